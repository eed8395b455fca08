// A run before its first moment: pools with their prices and rank classes, models, engines, communicators.
#pragma once

#include <span>

#include "sim/run_state.hpp"

namespace rollcast {

// The log of a run in which nothing has happened yet.
EventLog new_log(Scenario const& scenario, std::span<Profile const* const> of_pools,
                 RunOptions const& options);

// Fills pools, teams and rollout of the run, and the rank classes and ledgers of its log.
void set_up(RunState& run, std::span<Profile const* const> of_pools);

}  // namespace rollcast
