#include "tests/calibrate/collective_tables.hpp"

#include <array>
#include <fstream>
#include <sstream>

#include "calibrate/import/folder.hpp"

namespace rollcast {
namespace {

// Every file of the folder that holds collectives; the others are large.
constexpr std::array kFiles = {
    "aiconfigurator/a100_sxm/comm/nccl/2.27.3/nccl_perf.csv",
    "aiconfigurator/a100_sxm/comm/sglang/0.5.10/custom_allreduce_perf.csv",
    "aiconfigurator/a100_sxm/comm/vllm/0.14.0/custom_allreduce_perf.csv",
    "aiconfigurator/h100_sxm/comm/nccl/2.23/nccl_perf.csv",
    "aiconfigurator/h100_sxm/comm/nccl/2.27.3/nccl_perf.csv",
    "aiconfigurator/h100_sxm/comm/nccl/2.29.2/nccl_perf.csv",
    "aiconfigurator/h100_sxm/comm/sglang/0.5.6.post2/wideep_deepep_ll_perf.csv",
    "aiconfigurator/h100_sxm/comm/sglang/0.5.6.post2/wideep_deepep_normal_perf.csv",
    "aiconfigurator/h100_sxm/comm/vllm/0.14.0/custom_allreduce_perf.csv",
    "aiconfigurator/h100_sxm/comm/vllm/0.24.0/custom_allreduce_perf.csv",
    "deepep/deepep_readme.csv",
    "nccl_tests/tables.csv",
    "vidur/network/a100_dgx/all_reduce.csv",
    "vidur/network/a100_dgx/send_recv.csv",
    "vidur/network/h100_dgx/all_reduce.csv",
    "vidur/network/h100_dgx/send_recv.csv",
};

std::vector<std::string> cells(std::string const& line) {
  std::vector<std::string> out(1);
  bool quoted = false;
  for (char const c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      out.emplace_back();
    } else if (c != '\r') {
      out.back() += c;
    }
  }
  return out;
}

}  // namespace

std::string shared_data() { return std::string(ROLLCAST_SOURCE_DIR) + "/../shared/data/"; }

std::vector<Sample> const& imported_collectives() {
  static std::vector<Sample> const samples = [] {
    Imported all;
    for (std::string const name : kFiles) {
      std::ifstream in(shared_data() + name);
      if (!in) continue;
      std::ostringstream text;
      text << in.rdbuf();
      std::string const content = text.str();
      import_text({shared_data() + name, name, content, {}}, all);
    }
    return all.samples;
  }();
  return samples;
}

std::vector<Sample> imported_below(std::string const& source) {
  std::vector<Sample> out;
  for (Sample const& s : imported_collectives()) {
    if (s.source.starts_with(source)) out.push_back(s);
  }
  return out;
}

std::vector<CsvRow> read_csv(std::string const& path) {
  std::ifstream in(path);
  std::vector<CsvRow> out;
  std::string line;
  if (!std::getline(in, line)) return out;
  auto const names = cells(line);
  while (std::getline(in, line)) {
    auto const values = cells(line);
    CsvRow row;
    for (std::size_t i = 0; i < names.size() && i < values.size(); ++i) row.emplace_back(names[i], values[i]);
    out.push_back(std::move(row));
  }
  return out;
}

std::string field(CsvRow const& row, std::string const& name) {
  for (auto const& [n, v] : row) {
    if (n == name) return v;
  }
  return "";
}

std::vector<Sample> nic_ratio_samples() {
  std::vector<Sample> out;
  for (CsvRow const& r : read_csv(shared_data() + "simai/ratio/nic_ratio.csv")) {
    if (r.size() < 3) continue;
    double const bytes = std::stod(r[0].second), share = std::stod(r[2].second);
    for (char const* operation : {"all_gather", "reduce_scatter"}) {
      Sample s;
      s.gpu = "a100-sxm-80gb";
      s.operation = operation;
      s.variant = "nccl";
      s.dtype = "bf16";
      s.fabric = "ib-200g";
      s.shape = {bytes, 16, 2};
      s.seconds = Seconds(bytes * 15 / 16 / (share * 200e9));
      s.source = "simai/ratio/nic_ratio.csv, shares of an assumed 8 x 200 Gb/s";
      out.push_back(std::move(s));
    }
  }
  return out;
}

std::vector<Sample> built_in_samples() {
  std::vector<Sample> out = imported_collectives();
  for (Sample& s : out) {
    if (s.source != "vidur/network/h100_dgx/send_recv.csv" || s.shape[2] < 2) continue;
    s.fabric = "ib-400g";
    s.source += ", fabric not stated, taken as 8 x 400 Gb/s";
  }
  std::vector<Sample> const ratios = nic_ratio_samples();
  out.insert(out.end(), ratios.begin(), ratios.end());
  return out;
}

}  // namespace rollcast
