// The measured figure that a run's own micro-batches answer (`measured:` of a scenario): the peak of a
// counter that starts anew with every step.
#pragma once

#include <string_view>

namespace rollcast {

constexpr std::string_view kStepPeak = "peak_step_torch_memory_gib";

}  // namespace rollcast
