// What a scenario expects of its run, against what it came to. Pure.
#pragma once

#include <string>
#include <vector>

#include "reports/analysis.hpp"
#include "scenarios/scenario.hpp"

namespace rollcast {

// A sentence for each thing that is otherwise; empty: all is as expected. Of several out-of-memories the
// first counts.
std::vector<std::string> unmet(Expected const& e, Analysis const& a);

// "oom (torch) in old_logprob", for tables.
std::string expectation_text(Expected const& e);

}  // namespace rollcast
