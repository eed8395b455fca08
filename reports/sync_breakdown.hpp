// What a weight sync spends its time on, by the labels of its spans. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/event_log.hpp"

namespace rollcast {

struct SyncShare {
  std::string cause;  // label of its spans
  Seconds time;
};

// Per completed step (per step that has one, if none was completed), of the rank class that has most to do in
// it. Parts that run side by side overlap, so that their sum may exceed the phase.
struct SyncBreakdown {
  std::vector<SyncShare> causes;  // by first start; waiting is none
  Seconds wire;                   // of SyncCause::wire; 0: nothing is sent
};

// Nothing without spans of the phase.
std::optional<SyncBreakdown> sync_breakdown(EventLog const& log);

}  // namespace rollcast
