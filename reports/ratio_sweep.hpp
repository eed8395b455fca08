// The forecasts of `ratio`: which points, and their report.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "reports/forecast.hpp"
#include "reports/ratio_points.hpp"

namespace rollcast {

struct RatioOptions {
  // Of every point. A pipeline is filled before the first of them; batches that were generated together then
  // go through it in waves of one more than the staleness bound, so a mean needs a few waves: for a bound of
  // 4 that of 8 steps is within 1 % of that of 16, that of 4 steps is 14 % off
  // (scenarios/questions/exercise-600b-long-async.yaml).
  int steps = 8;
  std::vector<std::uint64_t> seeds = {1, 2, 3};  // the same for every point
  int total = 0;                                 // GPUs of both sides; 0: those of the file
  std::vector<int> rollout_gpus;  // of the curve at the base's trainer; empty: multiples of its own
  std::vector<double> staleness;  // empty: a few around the file's
  // Of the responses' length. Assumed: what a run's responses may shrink or grow to before the split is
  // chosen anew.
  std::vector<double> lengths = {0.75, 1, 1.5};
  std::string schedule;  // of the splits; empty: the file's
};

// Splits that are forecast at most; of more, some are left out.
constexpr std::size_t kMostSplits = 12;

// told: after every forecast, how many of those asked for so far have ended. The pool's source 0 is `source`,
// which `scenario` was read from. The same whatever the pool's workers.
RatioReport ratio_report(ForkPool& pool, ScenarioSource const& source, Scenario const& scenario,
                         RatioPlace const& place, RatioOptions const& options,
                         std::function<void(std::size_t ended, std::size_t asked)> const& told);

}  // namespace rollcast
