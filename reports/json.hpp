// The analysis as JSON (reports/JSON.md lists every key), CSV and comparable text: numbers with 9 significant
// digits, so that equal input gives equal bytes.
#pragma once

#include <string>

#include "reports/analysis.hpp"

namespace rollcast {

struct Uncertainty;

// The stable keys, in the order of reports/JSON.md. Step times and rates are null when no step was completed.
// uncertainty: null where there were no draws, and no such key.
std::string json_text(Analysis const& a, Uncertainty const* uncertainty = nullptr);

// v rounded to 9 significant digits; 0 for -0. std::logic_error if v is not finite.
double nine_digits(double v);

}  // namespace rollcast
