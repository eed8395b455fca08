#include "calibrate/sample.hpp"

#include <algorithm>
#include <stdexcept>

namespace rollcast {
namespace {

struct Row {
  std::string operation;
  std::vector<std::string> dimensions;
};

std::vector<Row> const& rows() {
  static std::vector<std::string> const collective = {"bytes", "ranks", "nodes"};
  static std::vector<std::string> const experts = {"tokens", "hidden", "experts", "top_k", "ranks", "nodes"};
  static std::vector<std::string> const layer = {"tokens",   "hidden",       "heads", "kv_heads",
                                                 "head_dim", "intermediate", "tp"};
  static std::vector<std::string> const served = {"prompt", "response", "concurrency", "tp", "pp", "ep"};
  static std::vector<Row> const table = {
      {"gemm", {"m", "n", "k"}},
      {"attention_prefill", {"batch", "length", "prefix", "heads", "kv_heads", "head_dim"}},
      {"attention_decode", {"batch", "context", "heads", "kv_heads", "head_dim"}},
      {"attention_backward", {"batch", "length", "heads", "kv_heads", "head_dim"}},
      {"moe", {"tokens", "hidden", "intermediate", "experts", "top_k", "tp", "ep"}},
      {"memory_pass", {"tokens", "width"}},
      {"layer_gemm", layer},
      {"layer", layer},
      {"all_reduce", collective},
      {"all_gather", collective},
      {"reduce_scatter", collective},
      {"broadcast", collective},
      {"all_to_all", collective},
      {"send_recv", collective},
      {"ep_dispatch", experts},
      {"ep_combine", experts},
      {"copy", {"bytes"}},
      {"launch", {"kernels"}},
      {"served_ttft", served},
      {"served_tpot", served},
  };
  return table;
}

Row const* row_of(std::string const& operation) {
  auto const it =
      std::find_if(rows().begin(), rows().end(), [&](Row const& r) { return r.operation == operation; });
  return it == rows().end() ? nullptr : &*it;
}

}  // namespace

std::vector<std::string> dimensions_of(std::string const& operation) {
  Row const* row = row_of(operation);
  return row == nullptr ? std::vector<std::string>{} : row->dimensions;
}

std::vector<std::string> const& operations() {
  static std::vector<std::string> const names = [] {
    std::vector<std::string> list;
    for (Row const& r : rows()) list.push_back(r.operation);
    return list;
  }();
  return names;
}

bool is_collective(std::string const& operation) {
  Row const* row = row_of(operation);
  return row != nullptr && row->dimensions.front() == "bytes" && row->dimensions.size() == 3;
}

double dimension(Sample const& s, std::string const& name) {
  if (Row const* row = row_of(s.operation)) {
    for (std::size_t i = 0; i < row->dimensions.size() && i < s.shape.size(); ++i) {
      if (row->dimensions[i] == name) return s.shape[i];
    }
  }
  throw std::logic_error("a sample of '" + s.operation + "' has no dimension '" + name + "'");
}

}  // namespace rollcast
