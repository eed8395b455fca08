#include "calibrate/fit_custom_all_reduce.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <tuple>

#include "calibrate/size_series.hpp"
#include "models/catalog/catalog.hpp"

namespace rollcast {
namespace {

constexpr std::array<std::string_view, 4> kBackends = {"vllm_graph", "vllm_eager", "sglang_graph",
                                                       "sglang_eager"};

using Key = std::tuple<std::string, std::string, int>;  // GPU, backend, ranks
using Series = std::map<Key, std::map<std::string, SizeRows>>;

Series series_of(std::vector<Sample> const& samples) {
  Series out;
  for (Sample const& s : samples) {
    bool const known = std::find(kBackends.begin(), kBackends.end(), s.variant) != kBackends.end();
    if (!known || s.operation != "all_reduce" || s.shape.size() < 2 || !(s.shape[0] > 0) ||
        !(s.seconds.value > 0))
      continue;
    if (s.shape.size() > 2 && s.shape[2] > 1) continue;
    out[{s.gpu, s.variant, static_cast<int>(s.shape[1])}][campaign_of(s)].push_back(
        {s.shape[0], s.seconds.value});
  }
  return out;
}

Node const* node_with(std::string const& gpu) {
  for (Node const& n : builtin_catalog().nodes) {
    if (n.gpu.name == gpu) return &n;
  }
  return nullptr;
}

}  // namespace

CustomAllReduceCalibration fit_custom_all_reduce(std::vector<Sample> const& samples, bool even_sizes) {
  CustomAllReduceCalibration out;
  for (auto const& [key, sources] : series_of(samples)) {
    auto const& [gpu, backend, ranks] = key;
    Node const* node = node_with(gpu);
    if (node == nullptr) continue;
    std::string const& source = fitted_source(sources);
    SizeRows const& rows = sources.at(source);
    auto const sizes = sizes_of(rows);
    SizeRows kept;
    for (auto const& r : rows) {
      if (!even_sizes || is_even_size(sizes, r.first)) kept.push_back(r);
    }
    CustomAllReduceSeries s{gpu, backend, ranks, node->gpu.nvlink, {}, source};
    for (auto const& [bytes, seconds] : smooth(kept))
      s.knots.push_back({rounded(std::log2(bytes), 1e4), rounded(seconds * 1e6, 100)});
    out.series.push_back(std::move(s));
  }
  return out;
}

std::vector<CustomAllReduceResidual> check_custom_all_reduce(CustomAllReduceCalibration const& calibration,
                                                             std::vector<Sample> const& samples,
                                                             bool held_out) {
  std::vector<CustomAllReduceResidual> out;
  for (auto const& [key, sources] : series_of(samples)) {
    auto const& [gpu, backend, ranks] = key;
    Node const* node = node_with(gpu);
    if (node == nullptr) continue;
    std::string const& fitted = fitted_source(sources);
    for (auto const& [source, rows] : sources) {
      if (held_out && source != fitted) continue;
      auto const sizes = sizes_of(rows);
      std::vector<double> errors;
      for (auto const& [bytes, seconds] : rows) {
        if (held_out && is_even_size(sizes, bytes)) continue;
        auto const p = custom_all_reduce_price(calibration, *node, backend, ranks, Bytes(bytes));
        if (p) errors.push_back(std::abs(p->total().value / seconds - 1));
      }
      if (errors.empty()) continue;
      out.push_back({gpu, backend, ranks, source, static_cast<int>(errors.size()), quantile(errors, 0.5),
                     quantile(errors, 0.9)});
    }
  }
  return out;
}

}  // namespace rollcast
