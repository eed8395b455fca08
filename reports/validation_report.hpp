// A validation as text and as JSON (scenarios/SCHEMA.md lists the keys).
#pragma once

#include <string>

#include "reports/validation.hpp"

namespace rollcast {

// The table by case, the medians, the pairs, and the scenarios without measured values.
std::string validation_text(Validation const& v);

// One item of "cases" per quantity; one with quantity null for a file that could not be read.
std::string validation_json(Validation const& v);

}  // namespace rollcast
