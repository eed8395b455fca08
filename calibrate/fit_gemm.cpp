#include "calibrate/fit_gemm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "models/random.hpp"

namespace rollcast {
namespace {

using Shape = std::array<double, 3>;

bool is_one(Sample const& s, Gpu const& gpu, GemmKind kind) {
  return s.operation == "gemm" && s.gpu == gpu.name && s.dtype == name_of(kind) && s.shape.size() == 3 &&
         s.seconds > Seconds(0);
}

std::size_t index_of(std::vector<double> const& knots, double v) {
  return static_cast<std::size_t>(std::lower_bound(knots.begin(), knots.end(), v) - knots.begin());
}

// log time at the two outermost knots of a line.
struct Ends {
  double inner = 0;
  double outer = 0;
};

double exponent_of(std::vector<Ends> lines, double log_step, bool upper_half) {
  if (lines.empty()) return upper_half ? 1 : 0;
  if (upper_half) {
    std::sort(lines.begin(), lines.end(), [](Ends const& a, Ends const& b) { return a.outer < b.outer; });
    lines.erase(lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(lines.size() / 2));
  }
  std::vector<double> slopes;
  for (Ends const& e : lines) slopes.push_back((e.outer - e.inner) / log_step);
  return std::clamp(median_of(slopes), 0.0, 1.0);
}

class Exponents {
 public:
  Exponents(GemmTable const& t, Gpu const& gpu) : t_(t), gpu_(gpu), knots_{&t.m, &t.n, &t.k} {}

  double below(std::size_t axis) const { return at_end(axis, 1, 0, false); }
  double above(std::size_t axis) const {
    std::size_t const last = knots_[axis]->size() - 1;
    return at_end(axis, last == 0 ? 0 : last - 1, last, true);
  }

 private:
  double log_time(std::array<std::size_t, 3> at) const {
    double const roof = gemm_roofline(gpu_, t_.kind, t_.m[at[0]], t_.n[at[1]], t_.k[at[2]]).value;
    return t_.at(at[1], at[2], at[0]) + portable_log(roof);
  }

  double at_end(std::size_t axis, std::size_t inner, std::size_t outer, bool upper_half) const {
    std::vector<double> const& knots = *knots_[axis];
    if (knots.size() < 2) return upper_half ? 1 : 0;
    std::size_t const a = axis == 0 ? 1 : 0;
    std::size_t const b = axis == 2 ? 1 : 2;
    std::vector<Ends> lines;
    for (std::size_t i = 0; i < knots_[a]->size(); ++i) {
      for (std::size_t j = 0; j < knots_[b]->size(); ++j) {
        std::array<std::size_t, 3> at{};
        at[a] = i;
        at[b] = j;
        Ends e;
        at[axis] = inner;
        e.inner = log_time(at);
        at[axis] = outer;
        e.outer = log_time(at);
        if (!std::isnan(e.inner) && !std::isnan(e.outer)) lines.push_back(e);
      }
    }
    return exponent_of(std::move(lines), portable_log(knots[outer] / knots[inner]), upper_half);
  }

  GemmTable const& t_;
  Gpu const& gpu_;
  std::array<std::vector<double> const*, 3> knots_;
};

}  // namespace

std::vector<double> gemm_errors(GemmPrices const& prices, Gpu const& gpu, GemmKind kind,
                                std::vector<Sample> const& samples) {
  std::vector<double> errors;
  for (Sample const& s : samples) {
    if (!is_one(s, gpu, kind)) continue;
    errors.push_back(relative_error(prices.at(s.shape[0], s.shape[1], s.shape[2]).value, s.seconds.value));
  }
  return errors;
}

GemmFit fit_gemm(Gpu const& gpu, GemmKind kind, std::vector<Sample> const& train,
                 std::vector<Sample> const& held_out) {
  GemmFit fit;
  fit.table.kind = kind;
  std::map<Shape, std::vector<double>> times;
  std::array<std::set<double>, 3> sizes;
  for (Sample const& s : train) {
    if (!is_one(s, gpu, kind)) continue;
    ++fit.rows;
    times[{s.shape[0], s.shape[1], s.shape[2]}].push_back(s.seconds.value);
    for (std::size_t i = 0; i < 3; ++i) sizes[i].insert(s.shape[i]);
  }
  if (times.empty()) return fit;
  GemmTable& t = fit.table;
  t.m.assign(sizes[0].begin(), sizes[0].end());
  t.n.assign(sizes[1].begin(), sizes[1].end());
  t.k.assign(sizes[2].begin(), sizes[2].end());
  t.log_ratio.assign(t.m.size() * t.n.size() * t.k.size(), std::numeric_limits<double>::quiet_NaN());
  for (auto const& [shape, measured] : times) {
    double const roof = gemm_roofline(gpu, kind, shape[0], shape[1], shape[2]).value;
    t.at(index_of(t.n, shape[1]), index_of(t.k, shape[2]), index_of(t.m, shape[0])) =
        portable_log(median_of(measured) / roof);
  }
  Exponents const exponents(t, gpu);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    t.below[axis] = exponents.below(axis);
    t.above[axis] = exponents.above(axis);
  }
  fit.held_out = residuals_of(gemm_errors(GemmPrices(t, gpu), gpu, kind, held_out));
  return fit;
}

std::string too_few(GemmFit const& fit) {
  constexpr std::size_t kSizes = 8, kPairs = 4;
  constexpr double kSpan = 64;
  GemmTable const& t = fit.table;
  std::size_t pairs = 0;
  for (std::size_t i = 0; i < t.n.size(); ++i) {
    for (std::size_t j = 0; j < t.k.size(); ++j) {
      for (std::size_t l = 0; l < t.m.size(); ++l) {
        if (std::isnan(t.at(i, j, l))) continue;
        ++pairs;
        break;
      }
    }
  }
  if (t.m.size() >= kSizes && t.m.back() >= kSpan * t.m.front() && pairs >= kPairs) return {};
  return fmt::format(
      "{} row{} too few for a table: it needs {} sizes of m that span a factor of {}, and {} pairs (n, k)",
      fit.rows, fit.rows == 1 ? " is" : "s are", kSizes, kSpan, kPairs);
}

}  // namespace rollcast
