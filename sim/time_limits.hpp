// Waits that a timer ends: collectives that are late, and ranks without work where no driver leads.
#pragma once

#include <vector>

#include "sim/run_state.hpp"

namespace rollcast {

struct ReplicaTimes;

// Ends the run where the pool's ranks wait too long for another pool's work, from now on: only without a
// controller, where they wait in a collective.
void watch_idle(RunState& run, PoolState& pool);
// The pool has work again.
void stop_watching_idle(RunState& run, PoolState& pool);

// The longest that a rank waits for the others at the end of a phase, each done at `ends`, until `end`:
// beyond the watchdog's time-out the run ends in an incident. Only without a controller. ends: of each class.
void watch_ends(PhaseRun const& p, std::vector<Seconds> const& ends, Seconds end);

// The micro-batches of each replica in a pass that begins at `start`: ranks that gather layers together and
// run fewer than others leave those waiting, and the run ends there.
void watch_counts(RunState& run, Team& team, std::vector<ReplicaTimes> const& passes, Seconds start);

// A collective of the run's communicators that is not done in time.
void end_late_collective(RunState& run, CommunicatorId id);

}  // namespace rollcast
