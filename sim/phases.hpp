// One phase of a step on its pool, with what switching costs around it; and phases that may run side by side.
#pragma once

#include <vector>

#include "sim/run_state.hpp"

namespace rollcast {

// The pool that a phase runs on. weight_sync: the actor's.
int pool_of_phase(Job const& job, Phase phase);

// Waits for work of this pool that an earlier step left in the background.
void wait_for_background(RunState& run, int pool);

// Runs in the calling actor: waits of the pool since its last phase, memory, copies and fixed parts, the
// work. false: the phase does not fit, and the run has stopped.
bool run_phase(RunState& run, Batch& batch, Phase phase);
// Whether a phase that nothing else runs (the engines' beside an asynchronous trainer) has the memory it
// needs; false: the run has stopped.
bool has_memory(RunState& run, Batch& batch, Phase phase);
// Generation for validation, and the engine's wake and sleep around it: the batch is one of its own.
bool run_validation_phase(RunState& run, Batch& batch, Phase phase);

// Phases of a step between generate and the update of weights, in order. Neighbours that do not need each
// other's results run side by side where their pools differ: scoring, log-probabilities, reference and
// values; the updates of actor and critic. false: the run has stopped.
bool run_phases(RunState& run, Batch& batch, std::vector<Phase> const& phases);

// The phases of a step that are not generation's own (generate, sleep, wake).
std::vector<Phase> training_phases(Job const& job, int step);

// The samples' way from engines to the replicas that train on them, for the trace.
void hand_over_samples(RunState& run, Batch& batch);

}  // namespace rollcast
