// The checkpoint phase, and what a long run with failures needs to know of it.
#pragma once

#include <optional>

#include "sim/run_state.hpp"

namespace rollcast {

// The wait for the write before, gather, copy to the host, write; an asynchronous write goes on behind the
// phases that follow, on Stream::storage.
void save_checkpoint(PhaseRun& p);

// Of a scenario with `reliability`: what a checkpoint, its write and its load take, and how often the cluster
// fails.
std::optional<LongRunPlan> long_run_plan(RunState const& run);

}  // namespace rollcast
