// A validation as text and as JSON (scenarios/SCHEMA.md lists the keys).
#pragma once

#include <string>

#include "reports/validation.hpp"

namespace rollcast {

// Which pairs are printed below their count: those whose faster one the forecast does not name, or all.
enum class PairsShown { disagreeing, all };

// The table by case, the medians, the pairs, and the scenarios without measured values.
std::string validation_text(Validation const& v, PairsShown pairs = PairsShown::disagreeing);

// One item of "cases" per quantity; one with quantity null for a file that could not be read.
std::string validation_json(Validation const& v);

}  // namespace rollcast
