// A run that ends in an incident: the stall, what follows it, and the spans up to then.
#pragma once

#include "models/stall.hpp"
#include "sim/run_state.hpp"

namespace rollcast {

// Ends the simulation; simulate() catches it.
struct RunEnded {};

// Writes the stall and what follows it into the log, cuts every rank's spans where it stopped or began to
// wait, and throws RunEnded. The outcome is what the log says already, if that is no longer `completed`; else
// `deadlock` with a cycle, `failed` where the launcher ends the job because a rank stopped, `stalled`
// otherwise.
[[noreturn]] void end_in_incident(RunState& run, Stall stall);

}  // namespace rollcast
