// Steps that train on a data set, SFT and DPO: the items of a step. (Samples that a rollout generates are
// sim/samples'; micro-batches of either are made in models/batching.)
#pragma once

#include <cstdint>
#include <vector>

#include "models/job.hpp"

namespace rollcast {

// What a batch size counts: one sequence of SFT (prompt + response), or one pair of DPO, two sequences
// (prompt +
// chosen, prompt + rejected) that go through the model in one forward pass.
struct DatasetItem {
  std::int64_t id = 0;  // within the step
  int prompt_tokens = 0;
  int response_tokens = 0;  // dpo: the chosen one
  int rejected_tokens = 0;  // dpo; sft: 0, no second sequence
};

// The `count` items of a step, in order of id. Lengths come from the workload and depend on seed, step and id
// alone: prompt i is drawn with key i, an SFT response too; a pair's two responses with keys 2i and 2i + 1.
// Kinds other than sft and dpo are a std::logic_error.
std::vector<DatasetItem> items_of_step(AlgorithmKind kind, Workload const& w, int count, std::uint64_t seed,
                                       int step);

}  // namespace rollcast
