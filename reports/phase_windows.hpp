// Phase windows against each other: what overlaps, and what is exposed.
#pragma once

#include <vector>

#include "sim/event_log.hpp"

namespace rollcast {

// The windows in order of start (equal starts: of end, then of the log).
std::vector<PhaseWindow> in_order(std::vector<PhaseWindow> windows);

// For each window, the part of it that no window of another pool overlaps.
std::vector<Seconds> exposed_times(std::vector<PhaseWindow> const& windows);

// Length of the union of the windows of one phase on one pool.
Seconds covered_time(std::vector<PhaseWindow> const& windows, int pool, Phase phase);

}  // namespace rollcast
