// rollcast import FRAMEWORK FILE | --cmd COMMAND [--output F]
#include "scenarios/import/import.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "reports/commands/commands.hpp"
#include "reports/commands/option_checks.hpp"
#include "reports/commands/outputs.hpp"
#include "reports/commands/scenario_input.hpp"
#include "reports/output_file.hpp"
#include "scenarios/import/secrets.hpp"

namespace rollcast {
namespace {

constexpr std::uint64_t kMostTokens = 1'000'000'000;

struct Arguments {
  std::string framework;
  std::string file;
  std::string command;
  std::string output = "-";
  std::vector<std::string> defines;
  ImportOptions options;
};

// The framework of that name, or nothing after the names were told.
std::optional<FrameworkKind> framework_of(std::string const& name) {
  std::vector<std::string_view> names;
  for (FrameworkKind k : importable_frameworks()) {
    if (name_of(k) == name) return k;
    names.push_back(name_of(k));
  }
  std::string_view const near = nearest(name, names);
  print_error(fmt::format("no configurations of '{}' are imported; {}", shown(without_secrets(name)),
                          near.empty() ? "write " + one_of(names) : fmt::format("did you mean {}?", near)));
  return std::nullopt;
}

// NAME=VALUE pairs; false after one that is none was told.
bool read_defines(Arguments& a) {
  for (std::string const& d : a.defines) {
    std::size_t const equals = d.find('=');
    if (equals == std::string::npos || equals == 0) {
      print_error("--define needs NAME=VALUE, as in --define NNODES=2");
      return false;
    }
    a.options.defines.emplace_back(d.substr(0, equals), d.substr(equals + 1));
  }
  return true;
}

void tell(std::string const& title, std::vector<std::string> const& lines) {
  if (lines.empty()) return;
  std::fprintf(stderr, "%s\n", title.c_str());
  for (std::string const& line : lines) std::fprintf(stderr, "  %s\n", line.c_str());
}

int import(Arguments& a) {
  auto const framework = framework_of(a.framework);
  if (!framework || !read_defines(a)) return 2;
  if (a.file.empty() == a.command.empty()) {
    print_error(a.file.empty() ? "name a configuration or a launch script, or give a command with --cmd"
                               : "give a file or --cmd, not both");
    return 2;
  }
  std::vector<std::string> const outputs = {a.output};
  std::vector<std::string> inputs;
  if (!a.file.empty()) inputs.push_back(a.file);
  if (std::string const conflict = output_conflict(outputs, inputs); !conflict.empty()) {
    print_error(conflict);
    return 2;
  }
  ImportedScenario const r = a.file.empty() ? import_command(*framework, a.command, ".", a.options)
                                            : import_file(*framework, a.file, a.options);
  if (!r.problems.empty()) {
    print_problems(r.problems);
    return 2;
  }
  if (std::string const error = write_file(a.output, r.text); !error.empty()) {
    print_error(error);
    return 2;
  }
  tell("Assumed:", r.assumed);
  tell("Not used:", r.unused);
  if (!r.doubts.empty()) {
    std::fputs("The scenario needs a change before it runs:\n", stderr);
    print_problems(r.doubts);
  }
  return 0;
}

}  // namespace

void add_import_command(CLI::App& app, int& exit_code) {
  auto const a = std::make_shared<Arguments>();
  CLI::App* const command =
      app.add_subcommand("import", "A scenario from the configuration or launch command of a framework");
  command->add_option("FRAMEWORK", a->framework, "verl, openrlhf, trl, slime or nemo-rl")->required();
  command->add_option("FILE", a->file, "Configuration (.yaml) or launch script");
  command->add_option("--cmd", a->command, "Launch command, in place of a file")->type_name("COMMAND");
  add_output_file(*command, "--output", a->output,
                  "Where the scenario is written (default: standard output)");
  command->add_option("--node", a->options.node, "Machines, by their name in the catalog")->type_name("NAME");
  command
      ->add_option("--gpus", a->options.gpus, "GPUs of a node that train, where only the launcher knows them")
      ->check(whole_number(1, 65536))
      ->type_name("N");
  command->add_option("--mean-prompt", a->options.mean_prompt, "Tokens of a prompt")
      ->check(whole_number(1, kMostTokens))
      ->type_name("N");
  command->add_option("--mean-response", a->options.mean_response, "Mean tokens of a response")
      ->check(whole_number(1, kMostTokens))
      ->type_name("N");
  command
      ->add_option("--define", a->defines,
                   "Variable that the script takes from its environment; may be repeated")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  command->footer("Example:\n  rollcast import verl run_grpo.sh --node hgx-h200 --output grpo.yaml");
  command->callback([a, &exit_code] { exit_code = import(*a); });
}

}  // namespace rollcast
