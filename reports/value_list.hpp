// Values of YAML in one text on the command line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/units.hpp"

namespace rollcast {

// "1,[2, 3],'a,b'" as three texts: commas in brackets, braces and quotes belong to a value. A quote opens
// where a value may begin, so that "don't" has none. An error for a bracket or quote that is not closed.
Parsed<std::vector<std::string>> split_values(std::string_view text);

}  // namespace rollcast
