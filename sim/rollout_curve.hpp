// What an engine held over time, as counters of the log.
#pragma once

#include <vector>

#include "models/rollout_engine.hpp"
#include "sim/recorder.hpp"

namespace rollcast {

// running, waiting and kv_blocks at the points of the curve (ascending) with from < time <= until. Where
// there are very many points, the last of each of equal spans of time.
void record_curve(PhaseRecorder const& recorder, int rank_class, std::vector<EnginePoint> const& curve,
                  Seconds from, Seconds until);

}  // namespace rollcast
