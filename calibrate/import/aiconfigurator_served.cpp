#include <utility>

#include "calibrate/import/aiconfigurator.hpp"
#include "calibrate/import/dtypes.hpp"
#include "calibrate/import/gpu_names.hpp"
#include "calibrate/import/table.hpp"

namespace rollcast {
namespace {

std::string variant_of(TableReader& row) {
  std::string variant = row.text("backend") + " " + row.text("model_path");
  double const replicas = row.text("attention_dp_size").empty() ? 1 : row.count("attention_dp_size");
  if (replicas > 1) variant += " attention dp " + row.text("attention_dp_size");
  return variant;
}

std::string version_of(TableReader const& row) {
  std::string const& version = row.text("backend_version");
  return version.empty() ? row.text("backend") : row.text("backend") + " " + version;
}

}  // namespace

bool is_aiconfigurator_served(std::vector<std::string> const& columns) {
  return has_columns(columns, {"backend", "model_path", "system", "isl", "osl", "batch_size", "tp_size",
                               "pp_size", "silicon_ttft_ms", "silicon_tpot_ms"});
}

void read_aiconfigurator_served(SourceText const& source, Imported& out) {
  TableReader row(source, out);
  while (row.next()) {
    if (row.text("mode") != "agg") {
      skip(out, source, "prefill and decode on separate GPUs");
      continue;
    }
    std::string const gpu = gpu_named_in(row.text("system"));
    if (gpu.empty()) {
      skip(out, source, "a GPU that the catalog does not hold");
      continue;
    }
    Sample s;
    s.gpu = gpu;
    s.variant = variant_of(row);
    s.dtype = row.text("precision").empty() ? "bf16" : dtype_named(row.text("precision"));
    double const experts = row.text("moe_ep_size").empty() ? 1 : row.count("moe_ep_size");
    s.shape = {row.count("isl"),     row.count("osl"),     row.count("batch_size"),
               row.count("tp_size"), row.count("pp_size"), experts};
    s.source = source.name;
    s.version = version_of(row);
    for (std::string const what : {"ttft", "tpot"}) {
      s.operation = "served_" + what;
      s.seconds = ms(row.positive("silicon_" + what + "_ms"));
      if (row.good()) out.samples.push_back(s);
    }
  }
}

}  // namespace rollcast
