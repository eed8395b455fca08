// The text of a scenario's file, for commands that forecast it with other values again and again.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/commands/scenario_input.hpp"
#include "reports/forecast.hpp"

namespace rollcast {

struct SourceResult {
  ScenarioSource source;
  std::vector<Problem> problems;  // why the file has no text; of the text itself nothing is said
};

// The file is read once, so that a pipe will do.
SourceResult read_source(std::string const& file, ScenarioOptions const& options);

// A scenario that can be simulated, and its text.
struct ForecastBase {
  ScenarioSource source;
  Scenario scenario;
};
// Nothing after every problem was printed on standard error; the exit code is then 2.
std::optional<ForecastBase> read_base(ScenarioArguments const& arguments);

}  // namespace rollcast
