// The scenario of a command: its arguments on the command line, and reading it.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "scenarios/scenario.hpp"

namespace rollcast {

struct ScenarioArguments {
  std::string file;
  ScenarioOptions options;
};

// Adds FILE, --set and --catalog to a command; `arguments` must outlive the parse.
void add_scenario_arguments(CLI::App& command, ScenarioArguments& arguments);

// The scenario, or nothing after every problem was printed on standard error and exit_code set to 2.
std::optional<Scenario> read_scenario(ScenarioArguments const& arguments, int& exit_code);

// Every problem on standard error.
void print_problems(std::vector<Problem> const& problems);

// "rollcast: sentence" on standard error.
void print_error(std::string const& sentence);

}  // namespace rollcast
