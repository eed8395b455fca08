#include "calibrate/fit_expert_exchange.hpp"

#include <cmath>
#include <map>
#include <tuple>

#include "calibrate/size_series.hpp"
#include "models/catalog/catalog.hpp"

namespace rollcast {
namespace {

// Between the smallest and the largest size: below it alpha and rate cannot be told apart.
constexpr double kLeastSpan = 4;

// GPU, mode, direction, several nodes.
using Key = std::tuple<std::string, ExchangeMode, ExchangeDirection, bool>;

std::map<Key, std::vector<ExchangeSample const*>> series_of(std::vector<ExchangeSample> const& samples) {
  std::map<Key, std::vector<ExchangeSample const*>> out;
  for (ExchangeSample const& s : samples)
    out[{s.gpu, s.exchange.mode, s.exchange.direction, s.exchange.group.nodes > 1}].push_back(&s);
  return out;
}

std::optional<ClusterSpec> cluster_with(std::string const& gpu) {
  Catalog const& c = builtin_catalog();
  for (Node const& n : c.nodes) {
    if (n.gpu.name == gpu) return ClusterSpec{n, 2, *find_fabric(c, n.fabric)};
  }
  return std::nullopt;
}

SizeRows rows_of(std::vector<ExchangeSample const*> const& samples) {
  SizeRows rows;
  for (auto const* s : samples) rows.push_back({exchanged_bytes(s->exchange).value, s->seconds.value});
  return rows;
}

// Seconds and seconds per byte.
struct Line {
  double alpha = 0;
  double slope = 0;
};

// Least squares of (alpha + slope x) / y - 1.
Line fit_line(SizeRows const& rows) {
  double aa = 0, ab = 0, bb = 0, a = 0, b = 0;
  for (auto const& [x, y] : rows) {
    double const u = 1 / y, v = x / y;
    aa += u * u;
    ab += u * v;
    bb += v * v;
    a += u;
    b += v;
  }
  double const determinant = aa * bb - ab * ab;
  return {(a * bb - b * ab) / determinant, (aa * b - ab * a) / determinant};
}

}  // namespace

std::vector<ExchangeSample> exchange_samples_of(std::vector<Sample> const& samples) {
  std::vector<ExchangeSample> out;
  for (Sample const& s : samples) {
    bool const dispatch = s.operation == "ep_dispatch";
    bool const low_latency = s.variant == "deepep low latency";
    if ((!dispatch && s.operation != "ep_combine") || s.shape.size() != 6) continue;
    if (!low_latency && s.variant != "deepep normal, 20 SMs") continue;
    ExpertExchange e;
    e.mode = low_latency ? ExchangeMode::low_latency : ExchangeMode::normal;
    e.direction = dispatch ? ExchangeDirection::dispatch : ExchangeDirection::combine;
    e.group = {static_cast<int>(s.shape[4]), static_cast<int>(s.shape[5]), 1};
    e.tokens = s.shape[0];
    e.hidden = s.shape[1];
    e.top_k = s.shape[3];
    out.push_back({s.gpu, e, s.seconds, s.source});
  }
  return out;
}

ExchangeCalibration fit_expert_exchange(std::vector<ExchangeSample> const& samples, bool even_sizes) {
  ExchangeCalibration out;
  for (auto const& [key, of_key] : series_of(samples)) {
    auto const& [gpu, mode, direction, several_nodes] = key;
    auto const cluster = cluster_with(gpu);
    if (!cluster) continue;
    SizeRows const rows = rows_of(of_key);
    auto const sizes = sizes_of(rows);
    SizeRows kept;
    for (auto const& r : smooth(rows)) {
      if (!even_sizes || is_even_size(sizes, r.first)) kept.push_back(r);
    }
    if (kept.empty() || kept.back().first < kLeastSpan * kept.front().first) continue;
    Line const line = fit_line(kept);
    if (!(line.slope > 0)) continue;
    double const link = exchange_link(*cluster, of_key.front()->exchange.group).value;
    out.fits.push_back({gpu, mode, direction, several_nodes, us(rounded(std::max(0.0, line.alpha) * 1e6, 10)),
                        rounded(1 / line.slope / link, 1000), of_key.front()->source});
  }
  return out;
}

std::vector<ExchangeResidual> check_expert_exchange(ExchangeCalibration const& calibration,
                                                    std::vector<ExchangeSample> const& samples,
                                                    bool held_out) {
  std::vector<ExchangeResidual> out;
  for (auto const& [key, of_key] : series_of(samples)) {
    auto const& [gpu, mode, direction, several_nodes] = key;
    auto const cluster = cluster_with(gpu);
    if (!cluster) continue;
    auto const sizes = sizes_of(rows_of(of_key));
    std::vector<double> errors;
    for (auto const* s : of_key) {
      if (held_out && is_even_size(sizes, exchanged_bytes(s->exchange).value)) continue;
      auto const p = exchange_price(calibration, *cluster, s->exchange);
      if (p) errors.push_back(std::abs(p->total() / s->seconds - 1));
    }
    if (errors.empty()) continue;
    out.push_back({gpu, std::string(name_of(mode)), std::string(name_of(direction)), several_nodes,
                   static_cast<int>(errors.size()), quantile(errors, 0.5), quantile(errors, 0.9)});
  }
  return out;
}

}  // namespace rollcast
