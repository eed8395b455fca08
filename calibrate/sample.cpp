#include "calibrate/sample.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace rollcast {
namespace {

// What a dimension can be; whole numbers all.
struct Range {
  double least = 1;
  double most = 1e12;
};

struct Dimension {
  std::string name;
  Range range;
};

struct Row {
  std::string operation;
  std::vector<Dimension> dimensions;
};

std::vector<Row> const& rows() {
  constexpr Range kCount{1, 65'536};    // of heads, experts, nodes, requests
  constexpr Range kGroup{2, 65'536};    // one rank exchanges nothing
  constexpr Range kCut{1, 4096};        // of a model over GPUs
  constexpr Range kLength{1, 1 << 20};  // tokens of a request: each is simulated
  static std::vector<Dimension> const collective = {
      {"bytes", {1, 1e15}}, {"ranks", kGroup}, {"nodes", kCount}};
  static std::vector<Dimension> const experts = {{"tokens", {}},    {"hidden", {}},    {"experts", kCount},
                                                 {"top_k", kCount}, {"ranks", kGroup}, {"nodes", kCount}};
  static std::vector<Dimension> const layer = {
      {"tokens", {}},       {"hidden", {}},       {"heads", kCount}, {"kv_heads", kCount},
      {"head_dim", kCount}, {"intermediate", {}}, {"tp", kCut}};
  static std::vector<Dimension> const served = {
      {"prompt", kLength}, {"response", kLength}, {"concurrency", kCount},
      {"tp", kCut},        {"pp", kCut},          {"ep", kCut}};
  static std::vector<Row> const table = {
      {"gemm", {{"m", {}}, {"n", {}}, {"k", {}}}},
      {"attention_prefill",
       {{"batch", {}},
        {"length", {}},
        {"prefix", {0, 1e12}},
        {"heads", kCount},
        {"kv_heads", kCount},
        {"head_dim", kCount}}},
      {"attention_decode",
       {{"batch", {}}, {"context", {}}, {"heads", kCount}, {"kv_heads", kCount}, {"head_dim", kCount}}},
      {"attention_backward",
       {{"batch", {}}, {"length", {}}, {"heads", kCount}, {"kv_heads", kCount}, {"head_dim", kCount}}},
      {"moe",
       {{"tokens", {}},
        {"hidden", {}},
        {"intermediate", {}},
        {"experts", kCount},
        {"top_k", kCount},
        {"tp", kCut},
        {"ep", kCut}}},
      {"memory_pass", {{"tokens", {}}, {"width", {}}}},
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
      {"copy", {{"bytes", {1, 1e15}}}},
      {"launch", {{"kernels", {}}}},
      {"served_ttft", served},
      {"served_tpot", served},
  };
  return table;
}

// A dimension that is at most another one of its operation.
struct Pair {
  char const* part;
  char const* whole;
};
constexpr Pair kParts[] = {{"nodes", "ranks"}, {"top_k", "experts"}, {"kv_heads", "heads"}};

Row const* row_of(std::string const& operation) {
  auto const it =
      std::find_if(rows().begin(), rows().end(), [&](Row const& r) { return r.operation == operation; });
  return it == rows().end() ? nullptr : &*it;
}

}  // namespace

std::vector<std::string> dimensions_of(std::string const& operation) {
  std::vector<std::string> names;
  if (Row const* row = row_of(operation)) {
    for (Dimension const& d : row->dimensions) names.push_back(d.name);
  }
  return names;
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
  return row != nullptr && row->dimensions.front().name == "bytes" && row->dimensions.size() == 3;
}

std::string shape_problem(Sample const& s) {
  Row const* row = row_of(s.operation);
  if (row == nullptr || row->dimensions.size() != s.shape.size())
    throw std::logic_error("a sample of '" + s.operation + "' has another number of dimensions");
  for (std::size_t i = 0; i < s.shape.size(); ++i) {
    auto const& [name, range] = row->dimensions[i];
    double const v = s.shape[i];
    if (!(v >= range.least && v <= range.most) || std::floor(v) < v)
      return fmt::format("{} is {}, not a whole number from {} to {}", name, v, range.least, range.most);
  }
  for (auto const& [part, whole] : kParts) {
    auto const has = [&](char const* name) {
      return std::any_of(row->dimensions.begin(), row->dimensions.end(),
                         [&](Dimension const& d) { return d.name == name; });
    };
    if (has(part) && has(whole) && dimension(s, part) > dimension(s, whole))
      return fmt::format("{} is {}, more than {}", part, dimension(s, part), whole);
  }
  return {};
}

double dimension(Sample const& s, std::string const& name) {
  if (Row const* row = row_of(s.operation)) {
    for (std::size_t i = 0; i < row->dimensions.size() && i < s.shape.size(); ++i) {
      if (row->dimensions[i].name == name) return s.shape[i];
    }
  }
  throw std::logic_error("a sample of '" + s.operation + "' has no dimension '" + name + "'");
}

}  // namespace rollcast
