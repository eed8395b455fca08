#include <memory>
#include <string>

#include "reports/commands/commands.hpp"
#include "reports/commands/outputs.hpp"
#include "reports/commands/scenario_input.hpp"
#include "reports/log_file.hpp"

namespace rollcast {
namespace {

struct Arguments {
  std::string log;
  OutputOptions outputs;
};

int report(Arguments const& arguments) {
  std::string const conflict = output_conflict(arguments.outputs, {arguments.log});
  if (!conflict.empty()) return refuse(conflict);
  LogResult const result = read_log_file(arguments.log);
  if (!result.log) return refuse(result.error);
  return write_outputs(*result.log, arguments.outputs);
}

}  // namespace

void add_report_command(CLI::App& app, int& exit_code) {
  auto const arguments = std::make_shared<Arguments>();
  CLI::App* const command = app.add_subcommand("report", "Analyse the event log of an earlier run again");
  command->add_option("LOG", arguments->log, "Event log, as rollcast run --log wrote it")->required();
  add_output_options(*command, arguments->outputs);
  command->footer("Example:\n  rollcast report run.log --trace trace.json");
  command->callback([arguments, &exit_code] { exit_code = report(*arguments); });
}

}  // namespace rollcast
