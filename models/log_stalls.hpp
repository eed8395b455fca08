// The collectives that timed out, gathered from the lines of the watchdog. A part of models/blame.
#pragma once

#include <map>
#include <vector>

#include "models/incident_fact.hpp"

namespace rollcast {

struct LogStall {
  IncidentFact first;                     // the first time-out, with its group
  std::map<int, IncidentFact> by_rank;    // the first one of each rank; -1: of ranks without a name
  std::map<int, std::int64_t> enqueued;   // last enqueued work in the group, where a line tells it
  std::map<int, std::int64_t> completed;  // last completed work

  // Whether the rank timed out in it, or tells elsewhere that it has enqueued and not completed it.
  bool waits(int rank) const;
  // When the rank of `first` enqueued it.
  Seconds begin() const;
};

// By group and sequence number, the one that was enqueued first first. The time-out names operation and
// sizes; the group is in the status line of the same rank and number or, without one, in that of another rank
// with the same number and operation. What ranks tell when they dump is added to the first one. `facts` are
// in order.
std::vector<LogStall> log_stalls(std::vector<IncidentFact> const& facts);

}  // namespace rollcast
