// How many layers each pipeline stage holds, where the first and the last rank hold a number of their own:
// their embedding and vocabulary head cost time and memory too.
#pragma once

#include <optional>
#include <vector>

#include "models/architecture.hpp"
#include "models/stage_prices.hpp"

namespace rollcast {

struct StageSplit {
  int ranks = 1;
  int chunks = 1;            // virtual stages of a rank
  std::optional<int> first;  // layers of the first rank (Megatron: num_layers_in_first_pipeline_stage)
  std::optional<int> last;   // layers of the last rank (num_layers_in_last_pipeline_stage)
};

// Layers of each of the ranks x chunks stages in the order of the model; stage c x ranks + r is chunk c of
// rank r. Ranks without a number of their own share the rest evenly, the first of them take one more where it
// does not divide (as pipeline_stages); a rank's chunks are equal. Nothing where no such split exists: a rank
// without a layer, layers left over, a rank's layers that its chunks do not divide.
std::optional<std::vector<int>> stage_layers(int layers, StageSplit const& split);

// The trainer's split in chunks of that number; 1: what each pipeline rank holds.
StageSplit split_of(TrainerOptions const& t, int chunks);

// The stages of that many layers each. A sum other than the layers of the architecture or a negative count is
// a std::logic_error.
std::vector<Stage> pipeline_stages(Architecture const& a, std::vector<int> const& layers);

// The same for that split; std::logic_error where there is none.
std::vector<Stage> pipeline_stages(Architecture const& a, TrainerOptions const& t, int chunks);

}  // namespace rollcast
