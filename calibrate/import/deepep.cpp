#include "calibrate/import/deepep.hpp"

#include <cmath>
#include <utility>

#include "calibrate/import/gpu_names.hpp"
#include "calibrate/import/table.hpp"

namespace rollcast {
namespace {

constexpr double kGpusOfNode = 8;
constexpr double kTokens = 128, kHidden = 7168, kExperts = 256, kTopK = 8;

std::string fabric_of(std::string const& nic) {
  return nic.find("400") != std::string::npos ? "ib-400g" : "";
}

}  // namespace

bool is_deepep(std::vector<std::string> const& columns) {
  return has_columns(columns,
                     {"version", "gpu", "nic", "mode", "EP", "dispatch_us", "combine_us", "bottleneck"});
}

void read_deepep(SourceText const& source, Imported& out) {
  TableReader row(source, out);
  while (row.next()) {
    if (row.text("dispatch_us").empty() || row.text("combine_us").empty()) {
      skip(out, source, "a bandwidth without a time");
      continue;
    }
    if (row.text("mode") != "low-latency") {
      skip(out, source, "a mode whose tokens are not known");
      continue;
    }
    double const ranks = row.count("EP"), nodes = std::ceil(ranks / kGpusOfNode);
    for (std::string const part : {"dispatch", "combine"}) {
      Sample s;
      s.gpu = gpu_named_in(row.text("gpu"));
      if (s.gpu.empty())
        row.problem("gpu", "'" + shown(row.text("gpu")) + "' is no GPU of the catalog",
                    "correct or remove the row");
      s.operation = "ep_" + part;
      s.variant = nodes > 1 ? "deepep low latency" : "deepep low latency, RDMA only";
      s.dtype = part == "dispatch" ? "fp8" : "bf16";
      s.shape = {kTokens, kHidden, kExperts, kTopK, ranks, nodes};
      s.seconds = us(row.positive(part + "_us"));
      s.source = source.name;
      s.version = "deepep " + row.text("version");
      if (nodes > 1) s.fabric = fabric_of(row.text("nic"));
      if (row.good()) out.samples.push_back(std::move(s));
    }
  }
}

}  // namespace rollcast
