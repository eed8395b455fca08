// The sequences of one optimizer step, or of one forward pass, on all data-parallel ranks, as micro-batches.
#pragma once

#include <vector>

#include "models/dynamic_batches.hpp"
#include "models/job.hpp"
#include "models/packing.hpp"

namespace rollcast {

enum class PassKind { training, forward };

// For each rank its micro-batches, in order. By TrainerOptions:
//   dynamic_batching  make_dynamic_batches with tokens_per_micro_batch (forward:
//   logprob_tokens_per_micro_batch)
//                     x cp tokens, the same number on every rank (equal_micro_batches; else each its own);
//                     with an interleaved pipeline a multiple of pp
//   packing           make_micro_batches, packs of pack_tokens (0: the longest sequence of the workload)
//   else              micro_batch (forward: logprob_micro_batch) neighbours, of DPO as many pairs, padded to
//   the
//                     longest of them, of all ranks' sequences, or that the workload allows (padding)
std::vector<std::vector<MicroBatch>> make_rank_batches(Job const& job, RankLengths const& ranks,
                                                       PassKind pass);

// Samples of a batch over data-parallel ranks, as indices in the order in which a rank takes them. none:
// contiguous; sorted: by length, longest first, back and forth over the ranks; karmarkar_karp: deal_balanced
// by the work of a transformer. DPO's pairs stay together and in order.
std::vector<std::vector<int>> deal_samples(Job const& job, std::vector<int> const& lengths, int ranks);

}  // namespace rollcast
