// The text of a scenario's file, read once: a pipe gives it no second time.
#pragma once

#include <string>
#include <vector>

#include "scenarios/problem.hpp"

namespace rollcast {

struct ScenarioText {
  std::string text;
  std::vector<Problem> problems;  // why there is none
};

// What is larger than a scenario may be is cut, and still too large for read_scenario_text.
ScenarioText scenario_text(std::string const& path);

}  // namespace rollcast
