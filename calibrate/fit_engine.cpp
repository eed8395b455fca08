#include "calibrate/fit_engine.hpp"

#include <array>
#include <cmath>
#include <utility>

#include "calibrate/served.hpp"

namespace rollcast {
namespace {

struct Measured {
  ServedPoint point;
  double tpot = 0;
};

std::vector<Measured> points_of(Profile const& kernels, std::vector<Sample> const& samples) {
  std::vector<Measured> points;
  for (Sample const& s : samples) {
    if (s.operation != "served_tpot") continue;
    if (auto point = served_point(kernels, s)) points.push_back({std::move(*point), s.seconds.value});
  }
  return points;
}

double price(Measured const& m, EngineOverhead const& o) { return served_times(m.point, o).tpot.value; }

double mean_square(std::vector<Measured> const& points, EngineOverhead const& o) {
  double sum = 0;
  for (Measured const& m : points) {
    double const e = std::log(price(m, o) / m.tpot);
    sum += e * e;
  }
  return sum / static_cast<double>(points.size());
}

Residuals residuals(std::vector<Measured> const& points, EngineOverhead const& o) {
  std::vector<double> errors;
  for (Measured const& m : points) errors.push_back(relative_error(price(m, o), m.tpot));
  return residuals_of(std::move(errors));
}

// Moves one step at a time while that helps, then halves the steps.
EngineOverhead search(std::vector<Measured> const& points) {
  constexpr int kHalvings = 5;
  EngineOverhead best;
  best.engine = EngineKind::trtllm;
  best.step = us(400);
  best.launch = us(32);
  std::array<std::pair<Seconds EngineOverhead::*, Seconds>, 2> moves{
      {{&EngineOverhead::step, us(200)}, {&EngineOverhead::launch, us(8)}}};
  double least = mean_square(points, best);
  for (int halving = 0; halving < kHalvings;) {
    bool better = false;
    for (auto const& [member, by] : moves) {
      for (double const sign : {1.0, -1.0}) {
        EngineOverhead next = best;
        next.*member += by * sign;
        if ((next.*member).value < 0) continue;
        double const value = mean_square(points, next);
        if (!(value < least)) continue;
        least = value;
        best = next;
        better = true;
        break;
      }
    }
    if (better) continue;
    ++halving;
    for (auto& move : moves) move.second = move.second / 2;
  }
  return best;
}

}  // namespace

std::optional<EngineFit> fit_engine(Profile const& kernels, std::vector<Sample> const& samples) {
  std::vector<Measured> const points = points_of(kernels, samples);
  if (points.empty()) return std::nullopt;
  EngineFit fit;
  fit.overhead = search(points);
  fit.train = residuals(points, fit.overhead);
  return fit;
}

Residuals check_engine(Profile const& kernels, EngineOverhead const& overhead,
                       std::vector<Sample> const& samples) {
  return residuals(points_of(kernels, samples), overhead);
}

}  // namespace rollcast
