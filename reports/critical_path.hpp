// Which rank class the step waited for, and what that class did.
#pragma once

#include <vector>

#include "reports/analysis.hpp"

namespace rollcast {

// As PathShare tells, averaged over the completed steps; empty if there are none. A class works last when its
// last work within the window ends last; of equals the first.
std::vector<PathShare> critical_path(EventLog const& log, std::vector<std::vector<Segment>> const& timelines);

}  // namespace rollcast
