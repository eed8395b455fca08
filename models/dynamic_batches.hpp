// Micro-batches by a budget of tokens, as verl's use_dynamic_bsz (verl/utils/seqlen_balancing.py,
// rearrange_micro_batches).
#pragma once

#include <vector>

#include "models/balance.hpp"
#include "models/packing.hpp"

namespace rollcast {

// Lengths (prompt + response) of the sequences of each data-parallel rank, of one mini-batch.
using RankLengths = std::vector<std::vector<int>>;

struct TokenBudget {
  int tokens =
      0;  // of a micro-batch; in verl ppo_max_token_len_per_gpu x sequence- or context-parallel ranks
  int multiple = 1;  // the count of micro-batches is one: the group of an interleaved pipeline
  LoadKind balance_by = LoadKind::transformer;
};

// Micro-batches that every rank runs: the largest over the ranks of min(sequences, ceil(tokens / budget)),
// rounded up to the multiple. All ranks run as many as the fullest, so that their collectives match.
// A budget or multiple below 1 is a std::logic_error.
int count_dynamic_batches(RankLengths const& ranks, TokenBudget const& budget);

// The sequences of one rank in `count` micro-batches of balanced load, as indices. The heaviest is in the
// middle and the lightest at both ends, so that little is waited for while a pipeline fills and drains.
std::vector<std::vector<int>> split_dynamic_batches(std::vector<int> const& lengths, int count,
                                                    LoadKind balance_by);

// For each rank its micro-batches in that order, without padding. The budget sets the count and so the mean;
// the parts are balanced but not cut, so one may hold more tokens than the budget. A rank with fewer
// sequences than micro-batches, which verl's assertion refuses too, is a std::logic_error.
std::vector<std::vector<MicroBatch>> make_dynamic_batches(RankLengths const& ranks,
                                                          TokenBudget const& budget);

}  // namespace rollcast
