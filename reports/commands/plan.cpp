#include "reports/plan.hpp"

#include <algorithm>
#include <memory>

#include "models/pools.hpp"
#include "reports/commands/commands.hpp"
#include "reports/commands/option_checks.hpp"
#include "reports/commands/outputs.hpp"
#include "reports/commands/scenario_input.hpp"
#include "reports/commands/scenario_source.hpp"

namespace rollcast {
namespace {

constexpr int kMostGpus = 16'384;

struct Arguments {
  ScenarioArguments scenario;
  PlanOptions plan;
  int nodes = 0;
  int workers = 0;
  OutputOptions outputs;
};

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
  if (std::string const conflict = output_conflict(arguments.outputs, inputs_of(arguments.scenario));
      !conflict.empty())
    return refuse(conflict);
  auto const base = read_base(arguments.scenario);
  if (!base) return 2;
  auto const& [source, scenario] = *base;
  if (scenario.job.serve) {
    print_problems(
        {{scenario.file, 0, 0, "serve", "plan searches layouts of a trainer, and nothing is trained",
          "sweep its cluster and rollout keys with rollcast sweep", ""}});
    return 2;
  }
  if (std::string const problem = unknown_knob(scenario.job, arguments.plan.keep); !problem.empty())
    return refuse(problem);
  if (arguments.nodes > 0) arguments.plan.gpus = arguments.nodes * scenario.job.cluster.node.gpus;
  ForkPool pool = forecast_pool(arguments.workers > 0 ? arguments.workers : usable_cores(), {source});
  auto const forecasts = [&](std::vector<std::pair<std::vector<std::string>, int>> const& tasks) {
    std::vector<ForecastTask> all;
    for (auto const& [sets, steps] : tasks) all.push_back({0, sets, arguments.plan.seed, steps});
    return forecast_all(pool, all);
  };
  Plan const result = make_plan(source, scenario, arguments.plan, forecasts);
  return write_report(arguments.outputs,
                      {[&] { return plan_text(result); }, [&] { return plan_json(result); },
                       [&] { return plan_csv(result); }});
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
  add_output_file(*command, "--json", arguments->outputs.json,
                  "Write the plan as JSON (- in place of the text)");
  add_output_file(*command, "--csv", arguments->outputs.csv,
                  "Write every layout that was simulated as CSV (- in place of the text)");
  command->footer(
      "Examples:\n  rollcast plan grpo.yaml --gpus 16\n"
      "  rollcast plan grpo.yaml --nodes 4 --keep schedule --json plan.json");
  command->callback([arguments, &exit_code] { exit_code = plan(*arguments); });
}

}  // namespace rollcast
