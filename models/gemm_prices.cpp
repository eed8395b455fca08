// A GemmTable bound to a GPU.
#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "models/gemm_table.hpp"
#include "models/monotone.hpp"
#include "models/random.hpp"

namespace rollcast {
namespace {

constexpr double kTile = 16;  // aligned: a multiple of it, or not larger
// Knots farther apart than this get more between them; closer in m, where the roofline bends.
constexpr double kWidest = 2.01;
constexpr double kWidestInM = 1.42;

bool is_aligned(double m) { return m <= kTile || !(std::fmod(m, kTile) > 0); }

std::vector<double> logs_of(std::vector<double> const& knots) {
  std::vector<double> logs;
  for (double const v : knots) logs.push_back(portable_log(v));
  return logs;
}

// Linear between the known values around i, constant beyond the first and the last.
void fill_line(std::vector<double> const& x, double* y) {
  std::size_t last = x.size();  // the last known one so far
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (std::isnan(y[i])) continue;
    for (std::size_t j = last == x.size() ? 0 : last + 1; j < i; ++j) {
      y[j] = last == x.size() ? y[i] : y[last] + (y[i] - y[last]) * (x[j] - x[last]) / (x[i] - x[last]);
    }
    last = i;
  }
  if (last == x.size()) return;
  for (std::size_t j = last + 1; j < x.size(); ++j) y[j] = y[last];
}

// Pairs and how to reach a missing one from measured ones; the same for every m.
class PairFiller {
 public:
  PairFiller(GemmTable const& t, std::vector<double> const& log_n, std::vector<double> const& log_k)
      : t_(t), log_n_(log_n), log_k_(log_k) {
    for (std::size_t i = 0; i < t.n.size() * t.k.size(); ++i) {
      measured_.push_back(!std::isnan(t.log_ratio[i * t.m.size()]));
    }
  }

  bool measured(std::size_t i, std::size_t j) const { return measured_[i * t_.k.size() + j]; }

  struct Source {
    std::size_t pair;  // index of [n][k]
    double weight;
  };
  // Empty: no line through (i, j) has measured pairs on both sides.
  std::vector<Source> between(std::size_t i, std::size_t j) const {
    std::vector<Source> sources;
    add_line(
        log_n_, i, [&](std::size_t at) { return at * t_.k.size() + j; }, sources);
    add_line(
        log_k_, j, [&](std::size_t at) { return i * t_.k.size() + at; }, sources);
    double sum = 0;
    for (Source const& s : sources) sum += s.weight;
    for (Source& s : sources) s.weight /= sum;
    return sources;
  }

  std::size_t nearest(std::size_t i, std::size_t j) const {
    std::size_t best = measured_.size();
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t pair = 0; pair < measured_.size(); ++pair) {
      if (!measured_[pair]) continue;
      double const distance =
          std::abs(log_n_[pair / t_.k.size()] - log_n_[i]) + std::abs(log_k_[pair % t_.k.size()] - log_k_[j]);
      if (distance < least) {
        least = distance;
        best = pair;
      }
    }
    return best;
  }

 private:
  template <class F>
  void add_line(std::vector<double> const& x, std::size_t here, F const& pair_at,
                std::vector<Source>& sources) const {
    std::size_t low = here;
    while (low > 0 && (low == here || !measured_[pair_at(low)])) --low;
    std::size_t high = here;
    while (high + 1 < x.size() && (high == here || !measured_[pair_at(high)])) ++high;
    if (low == here || high == here || !measured_[pair_at(low)] || !measured_[pair_at(high)]) return;
    double const to_low = x[here] - x[low];
    double const to_high = x[high] - x[here];
    double const trust = 1 / (to_low * to_high);
    sources.push_back({pair_at(low), trust * to_high / (to_low + to_high)});
    sources.push_back({pair_at(high), trust * to_low / (to_low + to_high)});
  }

  GemmTable const& t_;
  std::vector<double> const& log_n_;
  std::vector<double> const& log_k_;
  std::vector<char> measured_;
};

double shortest_time(GemmTable const& t, Gpu const& gpu) {
  double shortest = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < t.n.size(); ++i) {
    for (std::size_t j = 0; j < t.k.size(); ++j) {
      if (std::isnan(t.at(i, j, 0))) continue;
      double const roof = gemm_roofline(gpu, t.kind, t.m[0], t.n[i], t.k[j]).value;
      shortest = std::min(shortest, roof * portable_exp(t.at(i, j, 0)));
    }
  }
  return shortest;
}

// A copy of the table without gaps.
GemmTable completed(GemmTable const& table, Gpu const& gpu) {
  GemmTable t = table;
  std::vector<double> const log_m = logs_of(t.m), log_n = logs_of(t.n), log_k = logs_of(t.k);
  for (std::size_t i = 0; i < t.n.size() * t.k.size(); ++i) fill_line(log_m, &t.log_ratio[i * t.m.size()]);
  GemmTable const known = t;
  PairFiller const filler(known, log_n, log_k);
  double const floor = shortest_time(known, gpu);
  for (std::size_t i = 0; i < t.n.size(); ++i) {
    for (std::size_t j = 0; j < t.k.size(); ++j) {
      if (filler.measured(i, j)) continue;
      std::vector<PairFiller::Source> const sources = filler.between(i, j);
      std::size_t const nearest = sources.empty() ? filler.nearest(i, j) : 0;
      for (std::size_t m = 0; m < t.m.size(); ++m) {
        double value = 0;
        for (PairFiller::Source const& s : sources) {
          value += s.weight * known.log_ratio[s.pair * t.m.size() + m];
        }
        if (sources.empty()) {
          double const there =
              gemm_roofline(gpu, t.kind, t.m[m], t.n[nearest / t.k.size()], t.k[nearest % t.k.size()]).value;
          double const here = gemm_roofline(gpu, t.kind, t.m[m], t.n[i], t.k[j]).value;
          value = known.log_ratio[nearest * t.m.size() + m] +
                  portable_log((here + floor) / (there + floor) * there / here);
        }
        t.at(i, j, m) = value;
      }
    }
  }
  return t;
}

// The knots with more between those that are far apart, geometric middles, in m on tiles.
std::vector<double> denser(std::vector<double> const& knots, double widest, bool on_tiles) {
  std::vector<double> all = {knots.front()};
  for (std::size_t i = 1; i < knots.size(); ++i) {
    double const steps = std::ceil(portable_log(knots[i] / knots[i - 1]) / portable_log(widest));
    double const log_step = portable_log(knots[i] / knots[i - 1]) / steps;
    for (double s = 1; s < steps; ++s) {
      double middle = knots[i - 1] * portable_exp(s * log_step);
      if (on_tiles && middle > kTile) middle = std::round(middle / kTile) * kTile;
      if (middle > all.back() && middle < knots[i]) all.push_back(middle);
    }
    all.push_back(knots[i]);
  }
  return all;
}

struct Weighted {
  std::size_t low;
  double weight;  // of low + 1
};

std::size_t index_of(std::vector<double> const& knots, double knot) {
  return static_cast<std::size_t>(std::lower_bound(knots.begin(), knots.end(), knot) - knots.begin());
}

std::vector<Weighted> places_of(std::vector<double> const& dense, std::vector<double> const& knots) {
  std::vector<Weighted> places;
  for (double const v : dense) {
    auto const it = std::upper_bound(knots.begin(), knots.end(), v);
    std::size_t const low =
        std::min(static_cast<std::size_t>(std::max<std::ptrdiff_t>(it - knots.begin() - 1, 0)),
                 knots.size() < 2 ? 0 : knots.size() - 2);
    double const weight =
        knots.size() < 2 ? 0 : portable_log(v / knots[low]) / portable_log(knots[low + 1] / knots[low]);
    places.push_back({low, weight});
  }
  return places;
}

// Over the measured knots of m, at a place between pairs.
std::vector<double> ratios_at(GemmTable const& t, Weighted n, Weighted k) {
  std::vector<double> row(t.m.size(), 0);
  for (std::size_t a = 0; a < 2; ++a) {
    for (std::size_t b = 0; b < 2; ++b) {
      double const weight = (a == 0 ? 1 - n.weight : n.weight) * (b == 0 ? 1 - k.weight : k.weight);
      if (!(weight > 0)) continue;
      for (std::size_t l = 0; l < row.size(); ++l) row[l] += weight * t.at(n.low + a, k.low + b, l);
    }
  }
  return row;
}

}  // namespace

GemmPrices::GemmPrices(GemmTable const& table, Gpu const& measured_on, Gpu const& gpu)
    : gpu_(gpu), kind_(table.kind) {
  if (std::all_of(table.log_ratio.begin(), table.log_ratio.end(), [](double v) { return std::isnan(v); })) {
    throw std::logic_error("a gemm table without a measured value has no prices");
  }
  GemmTable const t = completed(table, measured_on);
  bool const carried = !same_rates(measured_on, gpu);
  double const log_shortest = carried ? portable_log(shortest_time(table, measured_on)) : 0;
  auto const carry = [&](double log_time, double m, double n, double k) {
    if (!carried) return log_time;
    double const ratio = gemm_blend(gpu, t.kind, m, n, k) / gemm_blend(measured_on, t.kind, m, n, k);
    return std::max(log_time + portable_log(ratio), log_shortest);
  };
  auto const axis = [&](std::vector<double> knots, std::size_t which) {
    Axis a;
    a.knots = std::move(knots);
    a.log = logs_of(a.knots);
    a.below = t.below[which];
    a.above = t.above[which];
    return a;
  };
  n_ = axis(denser(t.n, kWidest, /*on_tiles=*/false), 1);
  k_ = axis(denser(t.k, kWidest, /*on_tiles=*/false), 2);
  std::vector<Weighted> const in_n = places_of(n_.knots, t.n);
  std::vector<Weighted> const in_k = places_of(k_.knots, t.k);

  // Between the chosen knots of m ratios are linear in log m.
  auto const grid = [&](std::vector<std::size_t> const& chosen) {
    std::vector<double> knots;
    for (std::size_t const l : chosen) knots.push_back(t.m[l]);
    Grid g;
    g.m = axis(denser(knots, kWidestInM, /*on_tiles=*/true), 0);
    std::vector<Weighted> const in_m = places_of(g.m.knots, knots);
    for (std::size_t i = 0; i < n_.knots.size(); ++i) {
      for (std::size_t j = 0; j < k_.knots.size(); ++j) {
        std::vector<double> const row = ratios_at(t, in_n[i], in_k[j]);
        for (std::size_t l = 0; l < g.m.knots.size(); ++l) {
          double const low = row[chosen[in_m[l].low]];
          double const high = row[chosen[std::min(in_m[l].low + 1, chosen.size() - 1)]];
          double const roof =
              gemm_roofline(measured_on, t.kind, g.m.knots[l], n_.knots[i], k_.knots[j]).value;
          double const log_time = low + in_m[l].weight * (high - low) + portable_log(roof);
          g.log_time.push_back(carry(log_time, g.m.knots[l], n_.knots[i], k_.knots[j]));
        }
      }
    }
    return g;
  };

  std::vector<std::size_t> all;
  std::vector<std::size_t> aligned;
  for (std::size_t l = 0; l < t.m.size(); ++l) {
    all.push_back(l);
    if (l == 0 || l + 1 == t.m.size() || is_aligned(t.m[l])) aligned.push_back(l);
  }
  all_ = grid(all);
  aligned_ = grid(aligned);
  if (t.kind == GemmKind::fp8_block) return;
  make_ascending(aligned_.log_time, n_.knots.size(), k_.knots.size(), aligned_.m.knots.size());
  // Measured aligned knots are the same in both.
  for (std::size_t const l : aligned) {
    std::size_t const from = index_of(aligned_.m.knots, t.m[l]);
    std::size_t const to = index_of(all_.m.knots, t.m[l]);
    for (std::size_t pair = 0; pair < n_.knots.size() * k_.knots.size(); ++pair) {
      all_.log_time[pair * all_.m.knots.size() + to] =
          aligned_.log_time[pair * aligned_.m.knots.size() + from];
    }
  }
}

GemmPrices::Place GemmPrices::place(Axis const& axis, double value, double& log_factor) {
  std::size_t const last = axis.log.size() - 1;
  auto const knot = std::lower_bound(axis.knots.begin(), axis.knots.end(), value);
  bool const on_knot = knot != axis.knots.end() && *knot <= value;
  double const log =
      on_knot ? axis.log[static_cast<std::size_t>(knot - axis.knots.begin())] : portable_log(value);
  if (log <= axis.log.front()) {
    log_factor += axis.below * (log - axis.log.front());
    return {0, 0, 0};
  }
  if (log >= axis.log.back()) {
    log_factor += axis.above * (log - axis.log.back());
    return {last, last, 0};
  }
  auto const high =
      static_cast<std::size_t>(std::upper_bound(axis.log.begin(), axis.log.end(), log) - axis.log.begin());
  return {high - 1, high, (log - axis.log[high - 1]) / (axis.log[high] - axis.log[high - 1])};
}

Seconds GemmPrices::at(double m, double n, double k) const {
  double log_factor = 0;
  Grid const& grid = is_aligned(m) ? aligned_ : all_;
  std::size_t const row_size = grid.m.knots.size();
  Place const pm = place(grid.m, m, log_factor);
  Place const pn = place(n_, n, log_factor);
  Place const pk = place(k_, k, log_factor);
  auto const over_m = [&](std::size_t i, std::size_t j) {
    double const* row = &grid.log_time[(i * k_.knots.size() + j) * row_size];
    return row[pm.low] + pm.weight * (row[pm.high] - row[pm.low]);
  };
  auto const over_k = [&](std::size_t i) {
    double const low = over_m(i, pk.low);
    return low + pk.weight * (over_m(i, pk.high) - low);
  };
  double const low = over_k(pn.low);
  double const border = low + pn.weight * (over_k(pn.high) - low);
  Seconds const time = seconds(portable_exp(border + log_factor));
  if (covers(m, n, k)) return time;
  auto const inside = [](Axis const& a, double v) { return std::clamp(v, a.knots.front(), a.knots.back()); };
  Seconds const least = gemm_roofline(gpu_, kind_, m, n, k);
  Seconds const least_at_border = gemm_roofline(gpu_, kind_, inside(all_.m, m), inside(n_, n), inside(k_, k));
  return max(time, least * std::min(1.0, seconds(portable_exp(border)) / least_at_border));
}

bool GemmPrices::covers(double m, double n, double k) const {
  auto const within = [](Axis const& a, double v) { return v >= a.knots.front() && v <= a.knots.back(); };
  return !empty() && within(all_.m, m) && within(n_, n) && within(k_, k);
}

}  // namespace rollcast
