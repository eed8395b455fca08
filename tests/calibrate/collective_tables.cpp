#include "tests/calibrate/collective_tables.hpp"

#include <fstream>
#include <map>
#include <sstream>

namespace rollcast {
namespace {

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

double number(CsvRow const& row, std::string const& name) { return std::stod(field(row, name)); }

Sample make(std::string gpu, std::string operation, std::string fabric, double bytes, int ranks, int nodes,
            double seconds, std::string source) {
  Sample s;
  s.gpu = std::move(gpu);
  s.operation = std::move(operation);
  s.variant = "nccl";
  s.fabric = std::move(fabric);
  s.dtype = "bf16";
  s.shape = {bytes, static_cast<double>(ranks), static_cast<double>(nodes)};
  s.seconds = Seconds(seconds);
  s.source = std::move(source);
  return s;
}

}  // namespace

std::string shared_data() { return std::string(ROLLCAST_SOURCE_DIR) + "/../shared/data/"; }

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

std::vector<Sample> nccl_perf_samples() {
  std::vector<Sample> out;
  for (auto const& [gpu, file] :
       {std::pair<std::string, std::string>{"a100-sxm-80gb", "a100_sxm/comm/nccl/2.27.3"},
        {"h100-sxm", "h100_sxm/comm/nccl/2.23"},
        {"h100-sxm", "h100_sxm/comm/nccl/2.27.3"},
        {"h100-sxm", "h100_sxm/comm/nccl/2.29.2"}}) {
    std::string const path = "aiconfigurator/" + file + "/nccl_perf.csv";
    for (CsvRow const& r : read_csv(shared_data() + path)) {
      if (field(r, "nccl_dtype") != "half") continue;
      std::string const name = field(r, "op_name");
      out.push_back(make(gpu, name == "alltoall" ? "all_to_all" : name, "", 2 * number(r, "message_size"),
                         std::stoi(field(r, "num_gpus")), 1, number(r, "latency") * 1e-3, path));
      // The folder is not the version: the file of "2.27.3" for H100 was run with 2.29.2.
      std::string const version = field(r, "version");
      out.back().version = "NCCL " + (version.empty() ? "2.23" : version);
    }
  }
  return out;
}

std::vector<Sample> nccl_tests_samples() {
  std::map<std::string, std::string> const fabric = {
      {"T01", "tcpxo"}, {"T06b", "ib-400g"}, {"T08", "ib-400g"}, {"T17", "roce-200g"}, {"T21", "tcpxo"}};
  std::vector<Sample> out;
  for (CsvRow const& r : read_csv(shared_data() + "nccl_tests/tables.csv")) {
    std::string const table = field(r, "table_id");
    if (table == "T03" || table == "T04") continue;
    std::string operation = field(r, "collective");
    if (operation == "sendrecv") operation = "send_recv";
    bool const h100 = field(r, "gpu").find("H100") != std::string::npos;
    auto const f = fabric.find(table);
    out.push_back(make(h100 ? "h100-sxm" : "a100-sxm-80gb", operation, f == fabric.end() ? "" : f->second,
                       number(r, "size_B"), std::stoi(field(r, "nranks")), std::stoi(field(r, "nodes")),
                       number(r, "time_us") * 1e-6, "nccl_tests/tables.csv " + table));
    if (!field(r, "nccl").empty()) out.back().version = "NCCL " + field(r, "nccl");
  }
  return out;
}

std::vector<Sample> send_recv_samples() {
  std::vector<Sample> out;
  for (auto const& [gpu, folder] :
       {std::pair<std::string, std::string>{"a100-sxm-80gb", "a100_dgx"}, {"h100-sxm", "h100_dgx"}}) {
    std::string const path = "vidur/network/" + folder + "/send_recv.csv";
    for (CsvRow const& r : read_csv(shared_data() + path)) {
      int const nodes = field(r, "devices_per_node") == "2" ? 1 : 2;
      if (nodes == 2 && gpu != "h100-sxm") continue;
      std::string const source = nodes == 1 ? path : path + ", fabric not stated, taken as 8 x 400 Gb/s";
      out.push_back(make(gpu, "send_recv", nodes == 1 ? "" : "ib-400g", number(r, "size"), 2, nodes,
                         number(r, "time_stats.send_recv.median") * 1e-3, source));
    }
  }
  return out;
}

std::vector<Sample> nic_ratio_samples() {
  std::vector<Sample> out;
  for (CsvRow const& r : read_csv(shared_data() + "simai/ratio/nic_ratio.csv")) {
    if (r.size() < 3) continue;
    double const bytes = std::stod(r[0].second), share = std::stod(r[2].second);
    double const seconds = bytes * 15 / 16 / (share * 200e9);
    for (char const* operation : {"all_gather", "reduce_scatter"})
      out.push_back(make("a100-sxm-80gb", operation, "ib-200g", bytes, 16, 2, seconds,
                         "simai/ratio/nic_ratio.csv, shares of an assumed 8 x 200 Gb/s"));
  }
  return out;
}

std::vector<Sample> custom_all_reduce_samples() {
  std::vector<Sample> out;
  for (auto const& [gpu, file] :
       {std::pair<std::string, std::string>{"a100-sxm-80gb", "a100_sxm/comm/vllm/0.14.0"},
        {"a100-sxm-80gb", "a100_sxm/comm/sglang/0.5.10"},
        {"h100-sxm", "h100_sxm/comm/vllm/0.14.0"},
        {"h100-sxm", "h100_sxm/comm/vllm/0.24.0"}}) {
    std::string const path = "aiconfigurator/" + file + "/custom_allreduce_perf.csv";
    for (CsvRow const& r : read_csv(shared_data() + path)) {
      out.push_back(make(gpu, "all_reduce", "", 2 * number(r, "message_size"),
                         std::stoi(field(r, "num_gpus")), 1, number(r, "latency") * 1e-3, path));
      out.back().variant = field(r, "backend");
      out.back().version = field(r, "framework") + " " + field(r, "version");
    }
  }
  return out;
}

std::vector<ExchangeSample> exchange_samples() {
  using enum ExchangeDirection;
  std::vector<ExchangeSample> out;
  std::string const folder = "aiconfigurator/h100_sxm/comm/sglang/0.5.6.post2/";
  auto const add = [&](CsvRow const& r, ExchangeMode mode, ExchangeDirection d, double seconds,
                       std::string const& source) {
    int const nodes = std::stoi(field(r, "node_num"));
    out.push_back({"h100-sxm",
                   {mode,
                    d,
                    {8 * nodes, nodes, 1},
                    number(r, "num_token"),
                    number(r, "hidden_size"),
                    number(r, "num_topk")},
                   Seconds(seconds),
                   source});
  };
  std::string const low = folder + "wideep_deepep_ll_perf.csv";
  for (CsvRow const& r : read_csv(shared_data() + low)) {
    add(r, ExchangeMode::low_latency, dispatch, number(r, "dispatch_avg_t_us") * 1e-6, low);
    add(r, ExchangeMode::low_latency, combine, number(r, "combine_avg_t_us") * 1e-6, low);
  }
  std::string const normal = folder + "wideep_deepep_normal_perf.csv";
  for (CsvRow const& r : read_csv(shared_data() + normal)) {
    if (field(r, "dispatch_sms") != "20") continue;
    add(r, ExchangeMode::normal, dispatch,
        (number(r, "dispatch_transmit_us") + number(r, "dispatch_notify_us")) * 1e-6, normal);
    add(r, ExchangeMode::normal, combine,
        (number(r, "combine_transmit_us") + number(r, "combine_notify_us")) * 1e-6, normal);
  }
  return out;
}

std::vector<Sample> all_collective_samples() {
  std::vector<Sample> out = nccl_perf_samples();
  for (auto const& more : {nccl_tests_samples(), send_recv_samples(), nic_ratio_samples()})
    out.insert(out.end(), more.begin(), more.end());
  return out;
}

}  // namespace rollcast
