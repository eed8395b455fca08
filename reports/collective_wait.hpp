// How near a run comes to a watchdog's time-out.
#pragma once

#include <optional>
#include <string>

#include "models/job.hpp"
#include "sim/event_log.hpp"

namespace rollcast {

// The longest time that a rank with a timer (of a trainer's pool with several GPUs) waits in one piece for
// ranks that have not come: the spans collective_wait, and without a controller also phase_wait and
// rollout_tail, since ranks that are done wait for the others in a collective then. The collective's own time
// is left out. longest is 0 where nobody waits.
struct CollectiveWait {
  Seconds longest;
  Phase phase = Phase::generate;
  std::string what;  // label of the span
  Seconds timeout;   // WatchdogOptions::timeout
};

// Nothing where no rank has such a timer. The job is that of the log.
std::optional<CollectiveWait> longest_collective_wait(EventLog const& log, Job const& job);

}  // namespace rollcast
