// GRPO groups whose rewards are all equal have zero advantages and teach nothing; DAPO's dynamic sampling
// replaces them.
#pragma once

#include "models/random.hpp"

namespace rollcast {

// Whether a group has a signal, where a share of them has equal rewards. The key's purpose is not looked at.
// The mean over groups is the effective share of the samples.
bool has_signal(double equal_share, RandomKey key);

// Dynamic sampling as verl's DAPO recipe does it (recipe/dapo/dapo_ray_trainer.py): a round generates
// gen_batch_size prompts and scores them, groups without signal are dropped, and rounds follow each other
// until train_batch_size groups with signal are there; what is beyond them is thrown away. Where
// max_num_gen_batches rounds are not enough the run ends with an error. The recipe's run_dapo_qwen2.5_32b.sh
// takes 512 groups of 16, three times as many prompts per round, 10 rounds at most.
// The prompts of a round: ceil(oversampling x needed), at least 1.
int prompts_per_round(int needed, double oversampling);

}  // namespace rollcast
