#include <memory>
#include <string>

#include "models/context_limit.hpp"
#include "reports/commands/commands.hpp"
#include "reports/commands/memory_advice.hpp"
#include "reports/commands/option_checks.hpp"
#include "reports/commands/outputs.hpp"
#include "reports/commands/scenario_input.hpp"
#include "reports/memory_report.hpp"
#include "reports/output_file.hpp"

namespace rollcast {
namespace {

constexpr std::size_t kShownChanges = 3;

struct Arguments {
  ScenarioArguments scenario;
  std::string json;
};

int write(std::string const& path, std::string const& content) {
  std::string const error = write_file(path, content);
  if (error.empty()) return 0;
  print_error(error);
  return 2;
}

int memory(Arguments const& arguments) {
  OutputOptions outputs;
  outputs.json = arguments.json;
  if (std::string const conflict = output_conflict(outputs, inputs_of(arguments.scenario));
      !conflict.empty()) {
    print_error(conflict);
    return 2;
  }
  int exit_code = 0;
  std::optional<Scenario> const scenario = read_scenario(arguments.scenario, exit_code);
  if (!scenario) return exit_code;
  MemoryForecast forecast = forecast_memory(*scenario);
  forecast.longest_fitting = longest_fitting_sequence(scenario->job);
  if (!memory_verdict(forecast).fits)
    forecast.changes = cheapest_changes(arguments.scenario, scenario->job, kShownChanges);
  if (!arguments.json.empty()) exit_code = write(arguments.json, memory_json(forecast));
  if (exit_code == 0 && !takes_standard_output(outputs)) exit_code = write("-", memory_text(forecast));
  return exit_code;
}

}  // namespace

void add_memory_command(CLI::App& app, int& exit_code) {
  auto const arguments = std::make_shared<Arguments>();
  CLI::App* const command =
      app.add_subcommand("memory", "What every GPU and host holds in each phase, and whether it fits");
  add_scenario_arguments(*command, arguments->scenario);
  command->add_option("--json", arguments->json, "Write the ledger as JSON (- in place of the text)")
      ->check(output_path())
      ->type_name("FILE");
  command->footer("Example:\n  rollcast memory grpo.yaml --set train.recompute=none");
  command->callback([arguments, &exit_code] { exit_code = memory(*arguments); });
}

}  // namespace rollcast
