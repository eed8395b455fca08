// The records of serving in a saved event log.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "reports/log_fields.hpp"
#include "sim/event_log.hpp"

namespace rollcast {

// Lines of a log, each with its end:
//   ["serving",execution,pool,adapters,slots,slot,wasted,[ttft,tpot,latency],
//    [[rank,targets,bytes,rank_bytes,cold_load,merge],...]]
//   ["adapter_use",loads,storage_loads,hits,evictions,switches,peak_resident,peak_pages,load_time,exposed,
//    switch_time,kernel_time,distinct_steps,steps,busy,moved] of each engine in order
//   ["request",arrival,first_token,finish,prompt_tokens,response_tokens,adapter,engine]
// std::logic_error if a number is not finite.
std::string serving_lines(ServingLog const& s);
std::size_t serving_records(ServingLog const& s);

// Throw BadRecord. Of the last two serving_lines() has written the first before them.
ServingLog read_serving(LogFields& f);
void read_adapter_use(LogFields& f, EventLog& log);
void read_request(LogFields& f, EventLog& log);

}  // namespace rollcast
