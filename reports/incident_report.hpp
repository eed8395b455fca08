// An incident for people: what happened second by second, the first cause first; who waited for whom; what it
// cost; what would have ended it sooner.
#pragma once

#include <string>

#include "reports/analysis.hpp"
#include "reports/terminal.hpp"

namespace rollcast {

// What it cost, and what one remedy would have saved. The analysis has happenings.
std::string cost_sentence(Analysis const& a);
std::string remedy_text(Analysis const& a, Remedy const& r);

// One sentence where nothing went wrong.
std::string incident_text(Analysis const& a, TerminalOptions const& options);

}  // namespace rollcast
