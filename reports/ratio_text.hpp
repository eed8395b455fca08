// The report of `ratio` for people, for programs and for tables. JSON keys are listed in SCHEMA.md.
#pragma once

#include <string>

#include "reports/ratio_report.hpp"

namespace rollcast {

// The verdict first, then the tables. width: columns of its sentences; the tables have their own.
std::string ratio_text(RatioReport const& r, int width);

std::string ratio_json(RatioReport const& r);

// A line per point of each curve, after one with the names.
std::string ratio_csv(RatioReport const& r);

}  // namespace rollcast
