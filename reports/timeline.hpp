// What a rank class does at each moment: its spans, which overlap across streams, as disjoint segments.
#pragma once

#include <array>
#include <vector>

#include "sim/event_log.hpp"

namespace rollcast {

inline constexpr std::size_t kActivities = 9;
constexpr std::size_t index_of(Activity a) { return static_cast<std::size_t>(a); }
// The first four activities are work, the others are waiting.
constexpr bool is_work(Activity a) { return index_of(a) <= index_of(Activity::overhead); }

struct Segment {
  Seconds start;
  Seconds end;
  Activity activity = Activity::compute;
};

// One timeline per rank class, ascending and without overlap; moments that no span covers are left out. Where
// spans overlap, the activity that comes first in the enumeration counts: communication behind compute is
// hidden and does not appear, a wait counts only while no work is done. Writes behind the phases
// (Stream::storage) are left out.
std::vector<std::vector<Segment>> timelines(EventLog const& log);

// Time per activity within [start, end).
using ActivityTimes = std::array<Seconds, kActivities>;
ActivityTimes time_by_activity(std::vector<Segment> const& timeline, Seconds start, Seconds end);

}  // namespace rollcast
