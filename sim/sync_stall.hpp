// A weight sync whose collectives wait for each other in a circle.
#pragma once

#include <optional>
#include <string>

#include "models/collective_order.hpp"
#include "models/weight_sync.hpp"
#include "sim/run_state.hpp"

namespace rollcast {

struct SyncStall {
  CollectivePrograms programs;
  CollectiveRun run;       // times from the start of the sync
  std::string assumption;  // that the forecast rests on; may be empty
};

// Of the programs that the scenario's options give this sync; nothing where they end, and where the options
// ask for no order of their own.
std::optional<SyncStall> stall_of_sync(PhaseRun const& p, WeightSync const& sync);

// The run goes on until the last rank waits, and ends in the incident.
[[noreturn]] void stop_deadlocked(PhaseRun& p, SyncStall const& stall);

}  // namespace rollcast
