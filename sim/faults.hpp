// The faults of a scenario as they happen in a run.
#pragma once

#include "sim/run_state.hpp"

namespace rollcast {

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

// An out-of-memory, which the log has: its rank stops, and the run ends with what follows.
[[noreturn]] void end_out_of_memory(RunState& run, OomRecord const& oom);

}  // namespace rollcast
