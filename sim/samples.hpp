// The samples of a step: their lengths, and shares of them.
#pragma once

#include <cstdint>
#include <vector>

#include "models/job.hpp"

namespace rollcast {

struct Sample {
  std::int64_t id = 0;  // within the step: prompt x group_size + sibling
  int prompt = 0;       // index of its prompt
  int prompt_tokens = 0;
  int response_tokens = 0;

  int tokens() const { return prompt_tokens + response_tokens; }
};

// prompts x group_size samples, in order of id; sft: train_batch samples; dpo: as many pairs, chosen before
// rejected. Lengths depend on seed, step and index alone.
std::vector<Sample> samples_of_step(Job const& job, std::uint64_t seed, int step);

// Contiguous shards, as a single controller splits a batch: sizes differ by at most one.
std::vector<std::vector<Sample>> shard(std::vector<Sample> const& samples, int parts);

}  // namespace rollcast
