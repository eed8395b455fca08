// How much SimGrid was given to do in this process, which has one Engine: the cost of a simulation beside
// that of our own code.
#pragma once

#include <cstdint>

namespace rollcast {

struct EngineActivities {
  std::int64_t flows = 0;
  std::int64_t timers =
      0;  // that ran: alarms, ends of delays, starts and ends of flows, all of a moment in one
};
EngineActivities engine_activities();

}  // namespace rollcast
