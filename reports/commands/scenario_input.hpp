// The scenario of a command: its arguments on the command line, and reading it.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

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

// The files that the arguments name.
std::vector<std::string> inputs_of(ScenarioArguments const& arguments);

// Every problem on standard error.
void print_problems(std::vector<Problem> const& problems);

// "rollcast: sentence" on standard error.
void print_error(std::string const& sentence);

// The same, and the exit code of bad input: 2.
int refuse(std::string const& sentence);

// Text on standard output: exit code 0, or 2 after the failure was told on standard error.
int print(std::string const& text);

}  // namespace rollcast
