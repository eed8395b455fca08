// Flight-recorder dumps of the ranks of an incident, as PyTorch would have written them: what each has
// enqueued last in the groups that stall, for `rollcast blame` and PyTorch's own tools.
#pragma once

#include <vector>

#include "models/flight_record.hpp"
#include "sim/event_log.hpp"

namespace rollcast {

// One dump for each rank of the pool of the cause whose process lives long enough to write it (a rank that
// was killed writes none). Times count from the start of the run. A group's members are those that wait in it
// and those that they wait for; where its collectives are not counted, the one that stalls is the second.
// Nothing without an incident, or where nobody waits in a group of c10d.
std::vector<FlightDump> incident_dumps(EventLog const& log);

}  // namespace rollcast
