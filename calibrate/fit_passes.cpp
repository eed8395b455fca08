#include "calibrate/fit_passes.hpp"

#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "models/random.hpp"

namespace rollcast {
namespace {

constexpr double kSingleTokens = 64;
constexpr double kBinsPerOctave = 4;
constexpr std::size_t kFewestPoints = 3;
constexpr int kRounds = 60;
constexpr double kLonger = 1.3;
constexpr double kShorter = 0.6;
constexpr double kSmallest = 1e-13;  // of a number: it counts for nothing

using Numbers = std::array<double, 5>;
// Where the search begins: 2 us, 0.1 ns per element, 1 ns per token, bytes at two thirds of the bandwidth.
constexpr Numbers kStart = {2e-6, 1e-10, 1e-9, 1.5, 0.1};

struct Point {
  double tokens;
  double width;
  double log_time;
};

PassLaw law_of(ElementwisePass kind, Numbers const& n) {
  return {kind, seconds(n[0]), seconds(n[1]), seconds(n[2]), n[3], n[4]};
}

bool is_one(Sample const& s, Gpu const& gpu, ElementwisePass kind) {
  return s.operation == "memory_pass" && s.gpu == gpu.name && s.variant == name_of(kind) &&
         s.shape.size() == 2 && s.seconds > Seconds(0);
}

double bin_of(double tokens) {
  if (tokens <= kSingleTokens) return tokens;
  double const octaves = portable_log(tokens) / portable_log(2);
  return kSingleTokens + std::round(octaves * kBinsPerOctave);
}

std::vector<Point> gathered(Gpu const& gpu, ElementwisePass kind, std::vector<Sample> const& train,
                            int& rows) {
  struct Bin {
    std::vector<double> tokens;
    std::vector<double> times;
  };
  std::map<std::pair<double, double>, Bin> bins;
  for (Sample const& s : train) {
    if (!is_one(s, gpu, kind)) continue;
    ++rows;
    Bin& b = bins[{s.shape[1], bin_of(s.shape[0])}];
    b.tokens.push_back(s.shape[0]);
    b.times.push_back(s.seconds.value);
  }
  std::vector<Point> points;
  for (auto const& [key, b] : bins)
    points.push_back({median_of(b.tokens), key.first, portable_log(median_of(b.times))});
  return points;
}

double loss(Gpu const& gpu, PassLaw const& law, std::vector<Point> const& points) {
  double sum = 0;
  for (Point const& p : points)
    sum += std::abs(portable_log(pass_time(law, gpu, p.tokens, p.width).value) - p.log_time);
  return sum;
}

Numbers search(Gpu const& gpu, ElementwisePass kind, std::vector<Point> const& points) {
  Numbers best = kStart;
  Numbers step;
  step.fill(1);
  double least = loss(gpu, law_of(kind, best), points);
  auto const improves = [&](std::size_t i, double by) {
    Numbers tried = best;
    tried[i] *= portable_exp(by);
    if (tried[i] < kSmallest) return false;
    double const l = loss(gpu, law_of(kind, tried), points);
    if (!(l < least)) return false;
    least = l;
    best = tried;
    return true;
  };
  for (int round = 0; round < kRounds; ++round) {
    for (std::size_t i = 0; i < best.size(); ++i)
      step[i] *= improves(i, step[i]) || improves(i, -step[i]) ? kLonger : kShorter;
  }
  return best;
}

}  // namespace

PassFit fit_passes(Gpu const& gpu, ElementwisePass kind, std::vector<Sample> const& train,
                   std::vector<Sample> const& held_out) {
  PassFit fit;
  int rows = 0;
  std::vector<Point> const points = gathered(gpu, kind, train, rows);
  if (points.size() < kFewestPoints) return fit;
  fit.rows = rows;
  fit.law = law_of(kind, search(gpu, kind, points));
  std::vector<double> errors;
  for (Sample const& s : held_out) {
    if (is_one(s, gpu, kind))
      errors.push_back(
          relative_error(pass_time(fit.law, gpu, s.shape[0], s.shape[1]).value, s.seconds.value));
  }
  fit.held_out = residuals_of(std::move(errors));
  return fit;
}

}  // namespace rollcast
