// Scoring by rules or sandboxes on CPUs, and the controller's work between rollout and training.
#pragma once

#include "sim/run_state.hpp"

namespace rollcast {

// Runs in the calling actor; the pool waits. What was scored while others still generated (score.overlap) is
// not waited for.
void score_samples(PhaseRun& p);

}  // namespace rollcast
