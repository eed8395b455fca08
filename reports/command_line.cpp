#include "reports/command_line.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "reports/commands/commands.hpp"
#include "reports/commands/scenario_input.hpp"
#include "reports/version.hpp"

namespace rollcast {
namespace {

std::string before(std::string const& text, std::string_view mark) { return text.substr(0, text.find(mark)); }

// What the command line holds too much: an option before a stray word.
std::string stray(std::vector<std::string> const& words) {
  for (std::string const& w : words) {
    if (w.starts_with('-')) return w;
  }
  return words.empty() ? "" : words.front();
}

// The verb of the verb, "check" of "calibrate check".
CLI::App const& innermost(CLI::App const& app) {
  auto const verbs = app.get_subcommands();
  return verbs.empty() ? app : innermost(*verbs.front());
}

// The library's messages name its own types; these say what to do.
std::string sentence_for(CLI::App const& app, CLI::ParseError const& e) {
  std::string what = e.what();
  auto const verbs = app.get_subcommands();
  if (verbs.empty()) {
    std::string const word = stray(app.remaining());
    if (word.empty()) return "a command is missing";
    return fmt::format("'{}' is no {} of rollcast", word, word.starts_with('-') ? "option" : "command");
  }
  if (dynamic_cast<CLI::ExtrasError const*>(&e) != nullptr)
    return fmt::format("'{}' is not understood here", stray(innermost(app).remaining()));
  if (dynamic_cast<CLI::RequiredError const*>(&e) != nullptr)
    return before(what, " is required") + " is missing";
  if (dynamic_cast<CLI::ArgumentMismatch const*>(&e) != nullptr) {
    bool const twice = what.find("At Most 1") != std::string::npos;
    return before(what, ":") + (twice ? " is given more than once" : " needs a value");
  }
  return what;
}

std::string verb_of(CLI::App const& app) {
  auto const verbs = app.get_subcommands();
  return verbs.empty() ? app.get_name() : app.get_name() + " " + verb_of(*verbs.front());
}

}  // namespace

int run_command_line(int argc, char const* const* argv) {
  int exit_code = 0;
  CLI::App app("Forecasts LLM post-training runs before anyone pays for the GPUs.", "rollcast");
  app.set_version_flag("--version", std::string("rollcast ") + kVersion, "Print the version");
  app.set_help_flag("-h,--help", "Print this help");
  app.require_subcommand(1);
  app.footer(
      "Example:\n  rollcast run scenarios/examples/grpo-8b-colocated.yaml\nrollcast COMMAND --help tells "
      "more.");
  add_run_command(app, exit_code);
  add_report_command(app, exit_code);
  add_compare_command(app, exit_code);
  add_memory_command(app, exit_code);
  add_weights_command(app, exit_code);
  add_catalog_command(app, exit_code);
  add_calibrate_command(app, exit_code);
  add_sweep_command(app, exit_code);
  add_validate_command(app, exit_code);
  add_ratio_command(app, exit_code);
  add_import_command(app, exit_code);
  add_blame_command(app, exit_code);
  add_plan_command(app, exit_code);
  add_schema_command(app, exit_code);
  add_manual_commands(app, exit_code);
  try {
    app.parse(argc, argv);
  } catch (CLI::CallForHelp const&) {
    return print(app.help() + "\n");
  } catch (CLI::CallForVersion const& version) {
    return print(std::string(version.what()) + "\n");
  } catch (CLI::ParseError const& e) {
    std::string const verb = verb_of(app);
    std::fprintf(stderr, "%s: %s; %s --help tells how\n", verb.c_str(), sentence_for(app, e).c_str(),
                 verb.c_str());
    return 2;
  }
  return exit_code;
}

}  // namespace rollcast
