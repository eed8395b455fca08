// What the log says of a step that is done.
#pragma once

#include "sim/run_state.hpp"

namespace rollcast {

// From start to now. Steps of the warm-up leave no record.
void record_step(RunState& run, Batch const& batch, Seconds start);

}  // namespace rollcast
