// Which replica of a model takes which samples.
#pragma once

#include "models/batching.hpp"
#include "sim/run_state.hpp"

namespace rollcast {

// The batch's samples of each replica, as indices (deal_samples). Dealt once, then kept in the batch.
std::vector<std::vector<int>> const& dealt_to(Team const& team, Batch& batch);

// Lengths of each replica's sequences in a forward pass over the whole batch; critic and reward model see
// them padded (score.padded_tokens).
RankLengths forward_lengths(Team const& team, Batch& batch);

// The optimizer steps of an update, epochs included: lengths[step][replica]. karmarkar_karp deals the batch
// once, and every rank takes equal slices of its part in order, as verl does; the other ways deal every
// step's samples on their own.
std::vector<RankLengths> optimizer_steps(Team const& team, Batch& batch);

}  // namespace rollcast
