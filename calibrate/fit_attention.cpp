#include "calibrate/fit_attention.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "models/random.hpp"

namespace rollcast {
namespace {

using Heads = std::tuple<double, double, double>;

struct Point {
  HeadShape shape;
  double batch = 0;
  double length = 0;
};

// decode: batch, context, heads, kv_heads, head_dim; prefill: batch, length, prefix, heads, kv_heads,
// head_dim.
Point point_of(Sample const& s) {
  std::size_t const heads = s.operation == "attention_prefill" ? 3 : 2;
  return {{s.shape[heads], s.shape[heads + 1], s.shape[heads + 2]}, s.shape[0], s.shape[1]};
}

bool is_one(Sample const& s, Gpu const& gpu, AttentionChoice const& choice) {
  bool const prefill = choice.kind == AttentionKind::prefill;
  if (s.operation != (prefill ? "attention_prefill" : "attention_decode")) return false;
  if (s.gpu != gpu.name || s.dtype != choice.dtype || !(s.seconds > Seconds(0))) return false;
  if (s.shape.size() != (prefill ? 6u : 5u) || (prefill && s.shape[2] > 0)) return false;
  double const window = window_of(s);
  return !(window < choice.window) && !(choice.window < window);
}

Heads key_of(HeadShape const& s) { return {s.heads, s.kv_heads, s.head_dim}; }

std::size_t index_of(std::vector<double> const& knots, double v) {
  return static_cast<std::size_t>(std::lower_bound(knots.begin(), knots.end(), v) - knots.begin());
}

// One AttentionPrices for each shape that occurs.
class PricesByShape {
 public:
  PricesByShape(AttentionTable const& table, Gpu const& gpu) : table_(table), gpu_(gpu) {}

  AttentionPrices const& of(HeadShape const& s) {
    auto const it = prices_.find(key_of(s));
    if (it != prices_.end()) return it->second;
    return prices_.emplace(key_of(s), AttentionPrices(table_, gpu_, s)).first->second;
  }

 private:
  AttentionTable const& table_;
  Gpu const& gpu_;
  std::map<Heads, AttentionPrices> prices_;
};

}  // namespace

double window_of(Sample const& s) {
  static constexpr std::string_view kWord = "window ";
  std::size_t const at = s.variant.rfind(kWord);
  if (at == std::string::npos) return 0;
  double window = 0;
  char const* const first = s.variant.data() + at + kWord.size();
  std::from_chars(first, s.variant.data() + s.variant.size(), window);
  return window;
}

std::vector<double> attention_errors(AttentionTable const& table, Gpu const& gpu,
                                     AttentionChoice const& choice, std::vector<Sample> const& samples) {
  PricesByShape prices(table, gpu);
  std::vector<double> errors;
  for (Sample const& s : samples) {
    if (!is_one(s, gpu, choice)) continue;
    Point const p = point_of(s);
    errors.push_back(relative_error(prices.of(p.shape).at(p.batch, p.length).value, s.seconds.value));
  }
  return errors;
}

AttentionFit fit_attention(Gpu const& gpu, AttentionChoice const& choice, std::vector<Sample> const& train,
                           std::vector<Sample> const& held_out) {
  AttentionFit fit;
  AttentionTable& t = fit.table;
  t.kind = choice.kind;
  t.kv_bytes = choice.dtype == "fp8" ? 1 : 2;
  t.window = choice.window;
  std::map<std::tuple<Heads, double, double>, std::vector<double>> times;
  std::set<double> batches;
  std::set<double> lengths;
  std::map<Heads, std::size_t> shapes;
  for (Sample const& s : train) {
    if (!is_one(s, gpu, choice)) continue;
    ++fit.rows;
    Point const p = point_of(s);
    times[{key_of(p.shape), p.batch, p.length}].push_back(s.seconds.value);
    batches.insert(p.batch);
    lengths.insert(p.length);
    shapes.try_emplace(key_of(p.shape), 0);
  }
  if (times.empty()) return fit;
  t.batch.assign(batches.begin(), batches.end());
  t.length.assign(lengths.begin(), lengths.end());
  for (auto& [heads, index] : shapes) {
    index = t.shapes.size();
    t.shapes.push_back({std::get<0>(heads), std::get<1>(heads), std::get<2>(heads)});
  }
  double shortest = std::numeric_limits<double>::infinity();
  for (auto const& [key, measured] : times) shortest = std::min(shortest, median_of(measured));
  t.shortest = seconds(shortest);
  t.log_ratio.assign(t.shapes.size() * t.batch.size() * t.length.size(),
                     std::numeric_limits<double>::quiet_NaN());
  for (auto const& [key, measured] : times) {
    auto const& [heads, batch, length] = key;
    std::size_t const shape = shapes.at(heads);
    Seconds const roof = attention_roofline(gpu, t, t.shapes[shape], batch, length);
    std::size_t const row = shape * t.batch.size() + index_of(t.batch, batch);
    t.log_ratio[row * t.length.size() + index_of(t.length, length)] =
        portable_log(seconds(median_of(measured)) / (t.shortest + roof));
  }
  fit.held_out = residuals_of(attention_errors(t, gpu, choice, held_out));
  return fit;
}

std::string too_few(AttentionFit const& fit) {
  constexpr std::size_t kLengths = 4, kBatches = 3;
  if (fit.table.length.size() >= kLengths && fit.table.batch.size() >= kBatches) return {};
  return fmt::format("{} row{} too few for a table: it needs {} lengths and {} batches", fit.rows,
                     fit.rows == 1 ? " is" : "s are", kLengths, kBatches);
}

BackwardFit fit_attention_backward(AttentionTable const& prefill, Gpu const& gpu,
                                   std::vector<Sample> const& both_passes, double min_length) {
  PricesByShape prices(prefill, gpu);
  std::vector<double> ratios;
  for (Sample const& s : both_passes) {
    if (s.operation != "attention_backward" || s.gpu != gpu.name || s.shape.size() != 5) continue;
    Point const p = point_of(s);
    if (p.length < min_length) continue;
    Seconds const forward = prices.of(p.shape).at(p.batch, p.length);
    ratios.push_back((s.seconds - forward) / forward);
  }
  return {median_of(ratios), static_cast<int>(ratios.size())};
}

}  // namespace rollcast
