// An incident for people: what happened second by second, the first cause first; who waited for whom; what it
// cost; what would have ended it sooner.
#pragma once

#include <string>

#include "reports/analysis.hpp"
#include "reports/terminal.hpp"

namespace rollcast {

// One sentence where nothing went wrong.
std::string incident_text(Analysis const& a, TerminalOptions const& options);

}  // namespace rollcast
