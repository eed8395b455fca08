// The run as a trace for ui.perfetto.dev and chrome://tracing.
//
// One process per node, in it one track per rank class and stream; one process "phases" with a track per
// pool. Spans are complete events (ph X). Spans that overlap on a track without one holding the other go to a
// further track of the same name, so that every track nests. Memory is one counter per rank class with a
// series per role and category, in GiB; running, waiting and kv_blocks are counters of their own. A handover
// of samples is a flow arrow from the rollout slice that sent it to the training slice that took it; it is
// left out when there is no such slice. Times are microseconds with three decimals.
#pragma once

#include <string>

#include "sim/event_log.hpp"

namespace rollcast {

std::string trace_text(EventLog const& log);

}  // namespace rollcast
