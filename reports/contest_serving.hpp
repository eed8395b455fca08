// A contest of contenders that serve requests. Pure.
#pragma once

#include <optional>
#include <string>

#include "reports/contest.hpp"

namespace rollcast {

// Whether the unit is one of requests.
bool serves(WorkUnit u);

// What such a contest counts: requests in time where all that complete ask for the same and any of them is in
// time in all its seeds, else requests. Nothing where a contender that completes does not serve, or none
// does.
std::optional<WorkUnit> request_unit(Contest const& c);

// Contenders whose requests, or what they ask for, differ.
void add_serving_warnings(Contest& c);

// One sentence, as verdict() has it. A ratio below 1.02 is no difference; then the sentence goes on with the
// first tokens.
std::string serving_verdict(Contest const& c);

}  // namespace rollcast
