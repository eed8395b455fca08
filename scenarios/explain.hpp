// Every value of a scenario with where it came from.
#pragma once

#include <string>

#include "scenarios/scenario.hpp"

namespace rollcast {

// One line per value, in the order of the language: key, value, origin, in columns. Values and origins longer
// than their column are not cut.
std::string explain(Scenario const& scenario);

}  // namespace rollcast
