// One row per step, pool and phase, for spreadsheets.
#pragma once

#include <string>

#include "sim/event_log.hpp"

namespace rollcast {

// RFC 4180 with a header row:
// scenario,seed,step,step_seconds,pool,phase,start_seconds,seconds,exposed_seconds. start_seconds counts from
// the start of the run to the phase's first start; seconds is the time in its windows, exposed_seconds the
// part that no other pool overlaps. Rows by step, then start. step_seconds is empty for a step that was not
// completed. 9 significant digits.
std::string csv_text(EventLog const& log);

// Text as a field: quoted where it holds a comma, a quote or a line break.
std::string csv_field(std::string const& text);

}  // namespace rollcast
