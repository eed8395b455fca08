// The faults of a scenario as they happen in a run.
#pragma once

#include "sim/run_state.hpp"

namespace rollcast {

struct ReplicaTimes;

// Sets the alarms of the faults that have a time. Once, before the run.
void arm_faults(RunState& run);
// Of what has not happened, when the run is over.
void disarm_faults(RunState& run);
// Faults of this phase and step, which begins its work now; also ranks of the pool that stopped before it.
void start_faults(RunState& run, PoolState& pool);
// After a step: what leaks is held from now on, by the ranks of the leaking one's stage that are followed
// through PyTorch's allocator (sim/followed_memory.hpp).
void grow_leaks(RunState& run, int step);
// A note of faults that the run has not come to; empty: there are none.
std::string unhappened_faults(RunState const& run);
// The rank of the pool that leaks, if one does.
std::optional<int> leaking_rank(PoolState const& pool);

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
// An out-of-memory, which the log has: its rank stops, and the run ends with what follows.
[[noreturn]] void end_out_of_memory(RunState& run, OomRecord const& oom);

}  // namespace rollcast
