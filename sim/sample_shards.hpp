// Which replica of a model takes which samples.
#pragma once

#include "models/batching.hpp"
#include "sim/run_state.hpp"

namespace rollcast {

// Lengths of each replica's sequences in a forward pass over the whole batch.
RankLengths forward_lengths(Team const& team, std::vector<StepSample> const& samples);

// The optimizer steps of an update, epochs included: lengths[step][replica]. karmarkar_karp deals the batch
// once, and every rank takes equal slices of its part in order, as verl does; the other ways deal every
// step's samples on their own.
std::vector<RankLengths> optimizer_steps(Team const& team, std::vector<StepSample> const& samples);

}  // namespace rollcast
