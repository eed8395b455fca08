// The forecast of one case of a validation.
#pragma once

#include "reports/validation.hpp"
#include "scenarios/scenario.hpp"

namespace rollcast {

// Runs the scenario, which has a `measured:` or an `expected:` block, with the built-in prices, default steps
// and seed, each simulation in a process of its own. Where there is no forecast, every quantity says why: the
// run is not simulated yet, needs more memory than is free, failed, or ended otherwise than completed.
ValidationCase forecast_case(Scenario const& s);

}  // namespace rollcast
