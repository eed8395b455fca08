// Every value of a scenario with where it came from, for --explain.
#pragma once

#include <string>
#include <vector>

#include "scenarios/scenario.hpp"

namespace rollcast {

// One line a value, "key = value", then its origin after '#' in a column of its own; in the order given.
std::string explanation_text(std::vector<Origin> const& origins);

}  // namespace rollcast
