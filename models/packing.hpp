// Sequences into micro-batches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "models/job.hpp"

namespace rollcast {

// What a micro-batch costs depends on its tokens and on its causal (query, key) pairs, sum over sequences of
// l (l + 1) / 2.
struct MicroBatch {
  std::int64_t tokens = 0;         // computed, padding included
  std::int64_t useful_tokens = 0;  // without padding
  double pairs = 0;                // computed, padding included
};

// `each` neighbours a micro-batch, every sequence padded to a row of so many tokens; 0: to the longest of
// them.
std::vector<MicroBatch> pad_sequences(std::vector<int> const& lengths, std::size_t each, std::int64_t row);

// Sequences (prompt + response lengths) of one replica into micro-batches. Packing: first-fit decreasing into
// packs of pack_tokens x sequences_per_micro_batch (pack_tokens 0: the longest of the lengths), in the order
// in which the packs were opened; a sequence beyond the capacity is a pack of its own; with equal_packs and
// pp > 1 all are padded to the longest (the padding has no pairs of its own). Otherwise consecutive groups of
// sequences_per_micro_batch, padded to the longest of the group.
std::vector<MicroBatch> make_micro_batches(std::vector<int> const& lengths, TrainerOptions const& t,
                                           int sequences_per_micro_batch, int pack_tokens);

}  // namespace rollcast
