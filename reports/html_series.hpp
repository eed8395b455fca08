// The timeline and the curves of the HTML report as JSON; the keys are listed in reports/html_report.hpp.
#pragma once

#include <nlohmann/json.hpp>

#include "reports/html_timeline.hpp"
#include "sim/event_log.hpp"

namespace rollcast {

nlohmann::ordered_json timeline_json(EventLog const& log);
nlohmann::ordered_json engines_json(EventLog const& log, TimeRange range);
nlohmann::ordered_json memory_series_json(EventLog const& log, TimeRange range);
nlohmann::ordered_json links_json(EventLog const& log, TimeRange range);

}  // namespace rollcast
