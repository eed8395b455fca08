#include <map>
#include <memory>
#include <string>

#include "reports/command_manual.hpp"
#include "reports/commands/commands.hpp"
#include "reports/commands/scenario_input.hpp"

namespace rollcast {

void add_manual_commands(CLI::App& app, int& exit_code) {
  CLI::App* const manual = app.add_subcommand("manual", "Print this program's manual page (troff)");
  manual->footer("Example:\n  rollcast manual | man -l -");
  manual->callback([&app, &exit_code] { exit_code = print(manual_page(app)); });

  static std::map<std::string, Shell> const shells = {
      {"bash", Shell::bash}, {"fish", Shell::fish}, {"zsh", Shell::zsh}};
  auto const shell = std::make_shared<std::string>();
  CLI::App* const completion = app.add_subcommand("completion", "Print a script that completes commands");
  completion->add_option("SHELL", *shell, "bash, zsh or fish")->required()->check(CLI::IsMember(shells));
  completion->footer("Example:\n  source <(rollcast completion bash)");
  completion->callback(
      [&app, &exit_code, shell] { exit_code = print(completion_script(app, shells.at(*shell))); });
}

}  // namespace rollcast
