// Forwards of models on other GPUs than the engines', beside the generation (framework.experience).
#pragma once

#include "sim/run_state.hpp"

namespace rollcast {

// Once the samples are generated, from `start` on: records what the pools of reference, critic and reward
// model (with `batch` also that of the actor's log-probabilities) have done meanwhile, and puts what is left
// of each phase into batch.rest. Nothing for Experience::step.
void score_beside_generation(RunState& run, Batch& batch, Seconds start);

}  // namespace rollcast
