// The micro-batches of a phase, as its memory sees them.
#pragma once

#include <vector>

#include "sim/run_state.hpp"

namespace rollcast {

// Tokens of one rank: [optimizer step][replica][micro-batch]. A forward pass is one step.
std::vector<std::vector<std::vector<double>>> micro_batches_of(Team const& team, Batch& batch, Phase phase);

}  // namespace rollcast
