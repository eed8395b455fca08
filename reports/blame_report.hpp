// Who is to blame for a stuck run, as text and as JSON.
#pragma once

#include <string>
#include <vector>

#include "models/blame.hpp"

namespace rollcast {

// The verdict, the collective, the ranks, the facts in order and what would make the answer surer. Of a long
// list the first lines are shown; the JSON has all.
std::string blame_text(Blame const& b, std::vector<IncidentFact> const& facts);

// The shape is in reports/json_schema.cpp. A text that is not UTF-8 has its wrong bytes replaced.
std::string blame_json(Blame const& b, std::vector<IncidentFact> const& facts);

std::string_view name_of(FactKind k);

// "11-12 10:42:28.123"; "-" without a time.
std::string clock_text(std::optional<Seconds> since_new_year);

}  // namespace rollcast
