// The forecast of one case of a validation.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reports/run_apart.hpp"
#include "reports/validation.hpp"
#include "scenarios/scenario.hpp"

namespace rollcast {

// Runs the scenario, which has a `measured:` or an `expected:` block, with the built-in prices, default steps
// and seed, each simulation in a process of its own. Where there is no forecast, every quantity says why: the
// run is not simulated yet, needs more memory than is free, failed, or ended otherwise than completed.
ValidationCase forecast_case(Scenario const& s);

// The figures of the case in `file` with the prices and lengths of one draw (models/price_draw.hpp): a task
// of a ForkPool, whose body is drawn_case.
std::string drawn_case_task(std::string const& file, std::uint32_t draw);
std::string drawn_case(std::string const& task);

// Each draw's figures into the quantities that have a forecast. A draw that did not complete adds nothing.
void add_draws(ValidationCase& c, Scenario const& s, std::vector<ApartResult> const& draws);

}  // namespace rollcast
