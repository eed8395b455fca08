// A run that serves: requests arrive, engines answer them, adapters are loaded into the engines' memory.
//
// The fleet of engines keeps a clock of its own. While no adapter is under way it runs ahead of the
// simulation's, from completion to completion; from a wanted load on both go in step, until the last flow has
// ended.
//
// Open loop: requests are submitted when they arrive. Closed loop: `users` requests at the start, the next
// one at each completion. An engine that has nothing to answer leaves no span; one that waits for adapters,
// or for one to be merged into its weights, waits in Activity::driver.
#pragma once

#include "sim/run_state.hpp"

namespace rollcast {

// What the engines know of adapters, and their routes. Before the engine's run().
void set_up_serving(RunState& run);

// The whole run as one step with one phase.
void run_serving(RunState& run);

// That phase.
void serve(PhaseRun& p);

}  // namespace rollcast
