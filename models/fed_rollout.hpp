// An engine that is given a few samples at a time (`feed`), as early stacks do: the next ones come when all
// of those before are there and have been scored. The batch is never larger than the feed, so decoding waits
// for the latency of a step, not for its work.
#pragma once

#include <vector>

#include "models/rollout_engine.hpp"

namespace rollcast {

// Runs `requests` in order, `feed` at a time (0: all at once), from the engine's now on; between two feeds
// pass `between` (the forwards of the experience on the feed, say), after the last too. Completions are
// appended in order of time. Returns the end: the last completion and what follows it.
Seconds run_fed(RolloutEngine& engine, std::vector<Request> const& requests, int feed, Seconds between,
                std::vector<Completion>& out);

}  // namespace rollcast
