// One row per request of a serving run, for spreadsheets.
#pragma once

#include <string>

#include "sim/serving_log.hpp"

namespace rollcast {

// RFC 4180 with a header row, in order of arrival:
// arrival,first_token,finish,prompt,output,adapter,engine,ttft,tpot,latency. Seconds and tokens; adapter is
// empty for the base model alone, tpot of a response of one token. 9 significant digits.
std::string requests_csv(ServingLog const& log);

}  // namespace rollcast
