// How generation and training take turns. Each runs inside the driver's actor until options.steps steps are
// done, or the run has stopped.
#pragma once

#include "sim/run_state.hpp"

namespace rollcast {

// One phase after the other; without engines (sft, dpo) the training phases alone.
void run_synchronous(RunState& run);

// The next batch is generated while this one is trained on: wait for the batch, update the engines' weights,
// start the next batch, train. A sample is trained one version after it was generated (verl's one-step-off,
// slime's train_async, OpenRLHF's async_train with a queue of one). The first batch, for which nothing is
// trained meanwhile, is a step before the first that is counted.
void run_one_step_off(RunState& run);

// Generation never stops: the trainer takes samples as they are there, within the bound of staleness of the
// queue rule (models/admission.hpp), and updates the engines' weights every sync_every steps.
void run_asynchronous(RunState& run);

// Steps before the first one that is counted, in which the pipeline fills; they have negative numbers.
int warm_up_steps(Job const& job);

}  // namespace rollcast
