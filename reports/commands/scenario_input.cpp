#include "reports/commands/scenario_input.hpp"

#include <cstdio>

#include "reports/output_file.hpp"

namespace rollcast {

void add_scenario_arguments(CLI::App& command, ScenarioArguments& arguments) {
  command.add_option("FILE", arguments.file, "Scenario (YAML)")->required();
  command.add_option("--set", arguments.options.sets, "Override a value of the scenario; may be repeated")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command
      .add_option("--catalog", arguments.options.catalog_files,
                  "File that overrides or extends the catalog; may be repeated")
      ->type_name("FILE")
      ->allow_extra_args(false);
}

std::optional<Scenario> read_scenario(ScenarioArguments const& arguments, int& exit_code) {
  ScenarioResult result = read_scenario_file(arguments.file, arguments.options);
  if (result.problems.empty()) return std::move(result.scenario);
  print_problems(result.problems);
  exit_code = 2;
  return std::nullopt;
}

std::vector<std::string> inputs_of(ScenarioArguments const& arguments) {
  std::vector<std::string> files = arguments.options.catalog_files;
  files.push_back(arguments.file);
  return files;
}

void print_problems(std::vector<Problem> const& problems) {
  std::string const text = format(problems);
  std::fwrite(text.data(), 1, text.size(), stderr);
}

void print_error(std::string const& sentence) { std::fprintf(stderr, "rollcast: %s\n", sentence.c_str()); }

int refuse(std::string const& sentence) {
  print_error(sentence);
  return 2;
}

int print(std::string const& text) {
  std::string const error = write_file("-", text);
  return error.empty() ? 0 : refuse(error);
}

}  // namespace rollcast
