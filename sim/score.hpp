// Scoring by rules or sandboxes on CPUs, and the controller's work between rollout and training.
#pragma once

#include "sim/run_state.hpp"

namespace rollcast {

// Runs in the calling actor; the pool waits. With score.overlap the rollout has waited for the last score,
// and only the controller's work is left.
void score_samples(PhaseRun& p);

}  // namespace rollcast
