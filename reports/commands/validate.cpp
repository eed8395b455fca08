#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "reports/commands/case_forecast.hpp"
#include "reports/commands/commands.hpp"
#include "reports/commands/option_checks.hpp"
#include "reports/commands/outputs.hpp"
#include "reports/commands/scenario_input.hpp"
#include "reports/fork_pool.hpp"
#include "reports/output_file.hpp"
#include "reports/uncertainty.hpp"
#include "reports/validation_report.hpp"

namespace rollcast {
namespace {

namespace fs = std::filesystem;

struct Arguments {
  std::string folder;
  std::string json;
  bool all_pairs = false;
  bool fail_on_unmet = false;
  int draws = 0;
};

bool has_unmet(Validation const& v) {
  return std::any_of(v.cases.begin(), v.cases.end(),
                     [](ValidationCase const& c) { return !c.unmet.empty(); });
}

// By the scenario's name first: "a.yaml" before "a-b.yaml".
std::pair<std::string, std::string> by_name(fs::path const& file) {
  return {file.stem().string(), file.string()};
}

// The scenario files of the folder itself, by name; nothing if it cannot be listed.
std::optional<std::vector<std::string>> scenario_files(std::string const& folder) {
  std::error_code error;
  std::vector<std::string> files;
  fs::directory_iterator entry(folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    std::error_code other;
    std::string const extension = entry->path().extension().string();
    if ((extension == ".yaml" || extension == ".yml") && entry->is_regular_file(other))
      files.push_back(entry->path().string());
  }
  if (error) return std::nullopt;
  std::sort(files.begin(), files.end(),
            [](std::string const& a, std::string const& b) { return by_name(a) < by_name(b); });
  return files;
}

ValidationCase unread_case(std::string const& file, std::vector<Problem> const& problems) {
  Problem const& p = problems.front();
  ValidationCase c;
  c.name = fs::path(file).stem().string();
  if (p.line > 0) c.unread += fmt::format("line {}: ", p.line);
  if (!p.key.empty()) c.unread += p.key + ": ";
  c.unread += p.what;
  if (!p.remedy.empty()) c.unread += "; " + p.remedy;
  if (problems.size() > 1) c.unread += fmt::format(" (and {} more)", problems.size() - 1);
  return c;
}

std::vector<ApartResult> drawn(ForkPool& pool, std::string const& file, int draws) {
  std::vector<std::string> tasks;
  for (int i = 0; i < draws; ++i) tasks.push_back(drawn_case_task(file, static_cast<std::uint32_t>(i)));
  return run_all(pool, tasks);
}

// 2 if a file is no good scenario: the others are forecast all the same. 3, where asked for, if an expected
// outcome does not hold.
int validate_folder(Arguments const& arguments) {
  auto const files = scenario_files(arguments.folder);
  if (!files) return refuse(fmt::format("'{}' is no folder that can be listed", shown(arguments.folder)));
  OutputOptions outputs;
  outputs.json = arguments.json;
  if (std::string const conflict = output_conflict(outputs, *files); !conflict.empty())
    return refuse(conflict);

  int exit_code = 0;
  std::optional<ForkPool> pool;
  if (arguments.draws > 0) pool.emplace(usable_cores(), drawn_case);
  std::vector<ValidationCase> cases;
  std::vector<std::string> not_measured;
  for (std::string const& file : *files) {
    ScenarioResult const read = read_scenario_file(file, {});
    if (!read.scenario) {
      print_problems(read.problems);
      cases.push_back(unread_case(file, read.problems));
      exit_code = 2;
    } else if (!read.scenario->expected &&
               (!read.scenario->measured || read.scenario->measured->values.empty())) {
      not_measured.push_back(read.scenario->name);
    } else {
      cases.push_back(forecast_case(*read.scenario));
      if (pool && !cases.back().quantities.empty())
        add_draws(cases.back(), *read.scenario, drawn(*pool, file, arguments.draws));
    }
  }
  if (cases.empty()) {
    return refuse(
        fmt::format("'{}' holds no scenario (*.yaml, *.yml) with measured values", shown(arguments.folder)));
  }
  Validation const v = validate(std::move(cases), std::move(not_measured));
  if (!arguments.json.empty()) {
    if (std::string const error = write_file(arguments.json, validation_json(v)); !error.empty())
      return refuse(error);
  }
  if (exit_code == 0 && arguments.fail_on_unmet && has_unmet(v)) exit_code = 3;
  if (takes_standard_output(outputs)) return exit_code;
  int const printed =
      print(validation_text(v, arguments.all_pairs ? PairsShown::all : PairsShown::disagreeing));
  return printed == 0 ? exit_code : printed;
}

}  // namespace

void add_validate_command(CLI::App& app, int& exit_code) {
  auto const arguments = std::make_shared<Arguments>();
  CLI::App* const command = app.add_subcommand(
      "validate", "Forecast runs that were measured, and show how right the forecasts are");
  command->add_option("DIR", arguments->folder, "Folder of scenarios with `measured:` values")->required();
  add_output_file(*command, "--json", arguments->json,
                  "Write the comparison as JSON (- in place of the text)");
  command->add_flag("--pairs", arguments->all_pairs,
                    "Show all pairs of layouts, not only those where the forecast names the slower one");
  command->add_flag("--fail-on-unmet", arguments->fail_on_unmet,
                    "Exit with 3 if an `expected:` outcome does not hold");
  command
      ->add_option("--draws", arguments->draws,
                   "Forecast each run with so many draws of prices and lengths, too, and count how often the "
                   "measured value lies within their p10 to p90")
      ->check(whole_number(kFewestDraws, kMostDraws))
      ->type_name("N");
  command->footer("Example:\n  rollcast validate scenarios/published --json errors.json");
  command->callback([arguments, &exit_code] { exit_code = validate_folder(*arguments); });
}

}  // namespace rollcast
