// The training state as bytes per parameter, for any number of parameters: a round 70e9 as well as the exact
// shard of one rank.
//
// Mixed-precision Adam: weights 2 + gradients 2 or 4 + fp32 master 4 + two fp32 moments 8 = 16 or 18 bytes
// per trained parameter (Rajbhandari et al. 2020, "ZeRO", section 3.1); a frozen model is its weights, 2.
// With these, per parameter of equal models: sft 16, dpo 16 + 2 = 18, grpo 16 (18 with a frozen reference),
// ppo 2 x 16 + 2 x 2 = 36.
#pragma once

#include "models/job.hpp"

namespace rollcast {

struct StateBytes {
  Bytes weights;
  Bytes gradients;
  Bytes master_weights;
  Bytes optimizer_states;

  Bytes total() const { return weights + gradients + master_weights + optimizer_states; }
};

// Bytes per trained parameter. FSDP2 with master weights keeps one sharded fp32 parameter and a gradient of
// its type (0 + 4 + 4 + 8); its bf16 copy exists only while a layer is gathered.
StateBytes trained_bytes_per_parameter(TrainerOptions const& t);
StateBytes frozen_bytes_per_parameter(TrainerOptions const& t);

// 0: every rank holds all; 1: optimizer states and master weights are cut over the data-parallel ranks
// (Megatron's distributed optimizer); 2: gradients too; 3: weights too (FSDP2).
int zero_stage(TrainerOptions const& t);

// What one of `ranks` data-parallel ranks holds of `parameters` parameters (parameters: after tp, pp and ep).
StateBytes trained_state(double parameters, TrainerOptions const& t, int ranks);
StateBytes frozen_state(double parameters, TrainerOptions const& t, int ranks);

// All models of an algorithm together, per parameter, when all are of equal size; no adapter.
Bytes algorithm_bytes_per_parameter(Algorithm const& a, TrainerOptions const& t);

}  // namespace rollcast
