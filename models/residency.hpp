// Where each part of a model lives in each phase: GPU, host memory, both or neither.
//
// TrainerOptions::offload holds a part on the host throughout (the optimizer steps there; ZeRO-3 and FSDP
// gather layers from there; without ZeRO-3 parameters still come to the GPU for the phases that use them).
// FrameworkOptions::*_offload moves parts out between the phases of a colocated run, as NeMo-RL does, by the
// order of the step: trainer weights leave the GPU after weight_sync and return for the first phase in which
// the trainer computes; master weights and optimizer states are there only in the update, and so is
// Megatron's otherwise persistent gradient buffer; a reference on the host takes the place of the actor's
// weights for its phase.
#pragma once

#include <vector>

#include "models/job.hpp"
#include "models/roles.hpp"

namespace rollcast {

struct Residency {
  std::vector<Phase> gpu;
  std::vector<Phase> host;
};

Residency weights_residency(Job const& job, ModelRole const& r);
Residency gradients_residency(Job const& job, ModelRole const& r);
Residency optimizer_residency(Job const& job, ModelRole const& r);

// Whether the engine frees GPU memory between two rollouts: the step has a sleep, and sleep_level is not 0.
bool engine_sleeps(Job const& job);

// Phases in which the engine's weights, its KV pages are on the GPU: all when the engine never sleeps; else
// from the weight_sync or wake before generate to the end of sleep, KV only after weight_sync where the
// framework wakes by tags.
std::vector<Phase> engine_weight_phases(Job const& job);
std::vector<Phase> engine_kv_phases(Job const& job);

}  // namespace rollcast
