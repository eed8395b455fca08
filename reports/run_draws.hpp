// The draws of one run, over several processes.
#pragma once

#include <vector>

#include "calibrate/price_errors.hpp"
#include "reports/fork_pool.hpp"
#include "reports/uncertainty.hpp"
#include "scenarios/scenario.hpp"
#include "sim/simulate.hpp"

namespace rollcast {

struct DrawnRun {
  Scenario const& scenario;
  std::vector<Profile> profiles;    // of the pools
  std::vector<PriceErrors> errors;  // of the same
  RunOptions options;
};

// Simulates `draws` draws and, of each kind of price that has an error, the run with it one sigma dearer
// (same lengths), each in a process of its own: this one must hold no thread and not have simulated before.
// The result is the same whatever the number of workers.
Uncertainty drawn_uncertainty(DrawnRun const& run, int draws, int workers);

}  // namespace rollcast
