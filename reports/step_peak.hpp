// The measured figure that a run's own micro-batches answer (`measured:` of a scenario): the peak of a
// counter that starts anew with every step.
#pragma once

#include <string_view>

#include "scenarios/scenario.hpp"

namespace rollcast {

constexpr std::string_view kStepPeak = "peak_step_torch_memory_gib";

// Whether the scenario is laid beside it: its run then follows the micro-batches as they are dealt
// (RunOptions::memory_as_dealt).
bool measures_step_peak(Scenario const& s);

}  // namespace rollcast
