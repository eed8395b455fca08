#include "models/step_prices.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace rollcast {
namespace {

// The segment whose line holds at v: the end segments continue outwards.
std::size_t segment_of(std::vector<double> const& x, double v) {
  std::size_t const above = static_cast<std::size_t>(std::upper_bound(x.begin(), x.end(), v) - x.begin());
  return std::clamp<std::size_t>(above, 1, x.size() - 1) - 1;
}

bool ascends(std::vector<double> const& x) {
  return (x.empty() || x.front() >= 0.0) &&
         std::adjacent_find(x.begin(), x.end(), [](double a, double b) { return !(a < b); }) == x.end();
}

}  // namespace

double Curve::at(double v) const {
  if (x.empty()) return 0.0;
  if (x.size() == 1) return y[0];
  std::size_t const i = segment_of(x, v);
  return y[i] + (y[i + 1] - y[i]) * ((v - x[i]) / (x[i + 1] - x[i]));
}

double causal_pairs(double tokens) { return 0.5 * tokens * (tokens + 1.0); }

void check(StepPrices const& p) {
  bool good = ascends(p.prefill.x) && p.prefill.x.size() == p.prefill.y.size() && ascends(p.dense.x) &&
              p.dense.x.size() == p.dense.y.size() && ascends(p.batch_knots) && ascends(p.context_knots) &&
              p.batch_knots.size() == p.decode_attention.size() &&
              p.batch_knots.empty() == p.context_knots.empty() &&
              (p.batch_knots.size() != 1 || p.batch_knots[0] > 0.0);
  for (auto const& row : p.decode_attention) good = good && row.size() == p.context_knots.size();
  good = good && p.chunk_read >= 0;
  if (!good) throw std::logic_error("step prices: knots must ascend and tables must have their sizes");
}

Curve decode_curve(StepPrices const& p, double batch) {
  Curve result{p.context_knots, std::vector<double>(p.context_knots.size(), 0.0)};
  Curve column;
  bool const zero_is_knot = !p.batch_knots.empty() && p.batch_knots.front() <= 0.0;
  if (!zero_is_knot) column.x.push_back(0.0);
  column.x.insert(column.x.end(), p.batch_knots.begin(), p.batch_knots.end());
  for (std::size_t j = 0; j < p.context_knots.size(); ++j) {
    column.y.assign(zero_is_knot ? 0 : 1, 0.0);
    for (auto const& row : p.decode_attention) column.y.push_back(row[j]);
    result.y[j] = column.at(batch);
  }
  return result;
}

double sum_over_contexts(Curve const& curve, double c0, std::int64_t steps) {
  if (curve.x.size() < 2) return static_cast<double>(steps) * curve.at(c0);
  double sum = 0.0;
  std::size_t i = segment_of(curve.x, c0);
  for (std::int64_t done = 0; done < steps; ++i) {
    double const c = c0 + static_cast<double>(done);
    std::int64_t n = steps - done;
    if (i + 2 < curve.x.size()) {
      double const inside = std::floor(curve.x[i + 1] - c) + 1.0;
      if (inside < static_cast<double>(n)) n = std::max<std::int64_t>(0, static_cast<std::int64_t>(inside));
    }
    double const slope = (curve.y[i + 1] - curve.y[i]) / (curve.x[i + 1] - curve.x[i]);
    double const count = static_cast<double>(n);
    sum += count * (curve.y[i] + slope * (c - curve.x[i])) + slope * (0.5 * count * (count - 1.0));
    done += n;
  }
  return sum;
}

}  // namespace rollcast
