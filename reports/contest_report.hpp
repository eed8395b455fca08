// A contest as text for a terminal, as JSON and as CSV. Numbers in JSON and CSV have 9 significant digits.
#pragma once

#include <string>

#include "reports/contest.hpp"

namespace rollcast {

// The verdict, then the contenders side by side.
std::string contest_text(Contest const& c);

// Keys as compare_json_markdown() lists them.
std::string contest_json(Contest const& c);

// RFC 4180, a row per contender with a header row; empty fields where a figure is not known. Of contenders
// that serve the columns of reports/serving_columns.hpp follow.
std::string contest_csv(Contest const& c);

}  // namespace rollcast
