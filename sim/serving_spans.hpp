// What an engine that serves did over time, as spans of its ranks.
#pragma once

#include "models/rollout_engine.hpp"
#include "models/rollout_prices.hpp"
#include "sim/recorder.hpp"

namespace rollcast {

// Of each stretch of time in which the engine had requests (neighbouring ones together, where there are very
// many): one span of computing, then one of waiting for adapters. Their sums are exact, the time inside steps
// and the rest; how a stretch divides is the mean over all of them. The work is spread evenly over the
// computing. An engine without requests leaves no span.
void record_served(PhaseRecorder const& recorder, int rank_class, RolloutEngine const& engine,
                   RolloutWork const& work);

}  // namespace rollcast
