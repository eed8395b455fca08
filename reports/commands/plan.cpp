#include "reports/plan.hpp"

#include <algorithm>
#include <filesystem>
#include <memory>

#include "models/pools.hpp"
#include "reports/commands/commands.hpp"
#include "reports/commands/option_checks.hpp"
#include "reports/commands/outputs.hpp"
#include "reports/commands/scenario_input.hpp"
#include "reports/commands/scenario_text.hpp"
#include "reports/output_file.hpp"

namespace rollcast {
namespace {

constexpr int kMostGpus = 16'384;

struct Arguments {
  ScenarioArguments scenario;
  PlanOptions plan;
  int nodes = 0;
  int workers = 0;
  std::string json;
  std::string csv;
};

int refuse(std::string const& sentence) {
  print_error(sentence);
  return 2;
}

int write(std::string const& path, std::string const& content) {
  if (path.empty()) return 0;
  std::string const error = write_file(path, content);
  return error.empty() ? 0 : refuse(error);
}

// Checked before anything is simulated.
std::string unknown_knob(Job const& job, std::vector<std::string> const& keep) {
  std::vector<std::string> names = {"placement", "schedule"};
  for (auto const& knobs : {trainer_knobs(job), engine_knobs(job)}) {
    for (PlanKnob const& k : knobs) names.push_back(k.name);
  }
  for (std::string const& name : keep) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    return "--keep: there is no knob '" + shown(name) + "'; write " +
           one_of(std::vector<std::string_view>(names.begin(), names.end()));
  }
  return {};
}

int plan(Arguments arguments) {
  std::vector<std::string> outputs;
  for (std::string const& path : {arguments.json, arguments.csv}) {
    if (!path.empty()) outputs.push_back(path);
  }
  if (std::string const conflict = output_conflict(outputs, inputs_of(arguments.scenario)); !conflict.empty())
    return refuse(conflict);
  ScenarioText const text = scenario_text(arguments.scenario.file);
  ScenarioSource const source{arguments.scenario.file, text.text, arguments.scenario.options};
  std::vector<Problem> problems = text.problems;
  std::optional<Scenario> scenario;
  if (problems.empty()) {
    ScenarioResult read = read_scenario_text(source.text, source.file, source.options);
    problems = std::move(read.problems);
    scenario = std::move(read.scenario);
  }
  if (problems.empty()) problems = check_simulated(*scenario);
  if (!problems.empty()) {
    print_problems(problems);
    return 2;
  }
  if (std::string const problem = unknown_knob(scenario->job, arguments.plan.keep); !problem.empty())
    return refuse(problem);
  if (arguments.nodes > 0) arguments.plan.gpus = arguments.nodes * scenario->job.cluster.node.gpus;
  ForkPool pool = forecast_pool(arguments.workers > 0 ? arguments.workers : usable_cores(), {source});
  auto const forecasts = [&](std::vector<std::pair<std::vector<std::string>, int>> const& tasks) {
    std::vector<ForecastTask> all;
    for (auto const& [sets, steps] : tasks) all.push_back({0, sets, arguments.plan.seed, steps});
    return forecast_all(pool, all);
  };
  Plan const result = make_plan(source, *scenario, arguments.plan, forecasts);
  int exit_code = write(arguments.json, plan_json(result));
  if (exit_code == 0) exit_code = write(arguments.csv, plan_csv(result));
  bool const taken = arguments.json == "-" || arguments.csv == "-";
  return exit_code != 0 || taken ? exit_code : print(plan_text(result));
}

}  // namespace

void add_plan_command(CLI::App& app, int& exit_code) {
  auto const arguments = std::make_shared<Arguments>();
  CLI::App* const command = app.add_subcommand(
      "plan",
      "The fewest GPUs that a job runs on, its best layout on a given number, and what each knob moves");
  add_scenario_arguments(*command, arguments->scenario);
  PlanOptions& options = arguments->plan;
  auto* const gpus =
      command->add_option("--gpus", options.gpus, "GPUs of the layouts; default: the scenario's")
          ->check(whole_number(1, kMostGpus))
          ->type_name("N");
  command->add_option("--nodes", arguments->nodes, "Nodes of the layouts")
      ->check(whole_number(1, kMostGpus))
      ->excludes(gpus)
      ->type_name("N");
  command
      ->add_option("--most-gpus", options.most_gpus,
                   "GPUs up to which the minimum is looked for; default: four times the scenario's")
      ->check(whole_number(1, kMostGpus))
      ->type_name("N");
  command->add_option("--top", options.top, "Layouts to show (default 5)")
      ->check(whole_number(1, 100))
      ->type_name("N");
  command
      ->add_option("--keep", options.keep,
                   "A knob that stays as the scenario has it (train.recompute, placement, schedule); may be "
                   "repeated")
      ->type_name("KNOB")
      ->allow_extra_args(false);
  command->add_flag("--exhaustive", options.exhaustive, "Simulate every layout that fits");
  command->add_option("--seed", options.seed, "Seed of the random lengths and starts (default 1)")
      ->check(whole_number(0, UINT64_MAX))
      ->type_name("S");
  command->add_option("--workers", arguments->workers, "Processes that simulate; default: one for each core")
      ->check(whole_number(1, 1024))
      ->type_name("N");
  command->add_option("--json", arguments->json, "Write the plan as JSON (- in place of the text)")
      ->check(output_path())
      ->type_name("FILE");
  command
      ->add_option("--csv", arguments->csv,
                   "Write every layout that was simulated as CSV (- in place of the text)")
      ->check(output_path())
      ->type_name("FILE");
  command->footer(
      "Examples:\n  rollcast plan grpo.yaml --gpus 16\n  rollcast plan grpo.yaml --nodes 4 --keep schedule "
      "--json "
      "plan.json");
  command->callback([arguments, &exit_code] { exit_code = plan(*arguments); });
}

}  // namespace rollcast
