#include <iostream>
#include <memory>

#include "reports/commands/commands.hpp"
#include "reports/memory_report.hpp"
#include "reports/output_file.hpp"

namespace rollcast {
namespace {

struct MemoryCommand {
  std::string file;
  ScenarioOptions options;
  std::string json;
};

int run(MemoryCommand const& command) {
  ScenarioResult const read = read_scenario_file(command.file, command.options);
  if (!read.scenario) {
    std::cerr << format(read.problems);
    return 2;
  }
  MemoryForecast const forecast = forecast_memory(*read.scenario);
  if (command.json != "-") std::cout << memory_text(forecast);
  if (command.json.empty()) return 0;
  std::string const error = write_file(command.json, memory_json(forecast));
  if (error.empty()) return 0;
  std::cerr << error << '\n';
  return 2;
}

}  // namespace

void add_memory_command(CLI::App& app, int& exit_code) {
  auto const command = std::make_shared<MemoryCommand>();
  CLI::App* const verb =
      app.add_subcommand("memory", "What each GPU and host holds in each phase, and whether it fits");
  verb->add_option("file", command->file, "Scenario")->required();
  verb->add_option("--set", command->options.sets, "key.path=value, over the scenario's value");
  verb->add_option("--catalog", command->options.catalog_files,
                   "Catalog file that overrides or adds entries");
  verb->add_option("--json", command->json,
                   "Write the ledger as JSON (- for standard output, without the text)");
  verb->callback([command, &exit_code] { exit_code = run(*command); });
}

}  // namespace rollcast
