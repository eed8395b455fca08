#include "scenarios/schema.hpp"

#include "reports/commands/commands.hpp"
#include "reports/commands/scenario_input.hpp"
#include "reports/json_schema.hpp"

namespace rollcast {

void add_schema_command(CLI::App& app, int& exit_code) {
  CLI::App* const command = app.add_subcommand("schema", "Print scenarios/SCHEMA.md");
  command->group("");  // not listed: for those who build the program
  command->callback([&exit_code] { exit_code = print(schema_markdown() + json_schema_markdown()); });
}

}  // namespace rollcast
