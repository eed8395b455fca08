// The records of an incident in a saved event log.
#pragma once

#include <nlohmann/json.hpp>

#include "reports/log_fields.hpp"
#include "sim/event_log.hpp"

namespace rollcast {

nlohmann::ordered_json log_record(StallRecord const& r);
nlohmann::ordered_json log_record(Happening const& h);
nlohmann::ordered_json log_record(Remedy const& r);

// log: what came before. Throw BadRecord.
StallRecord read_stall(LogFields& f, EventLog const& log);
Happening read_happening(LogFields& f, EventLog const& log);
Remedy read_remedy(LogFields& f);

}  // namespace rollcast
