#include "reports/sweep.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "reports/commands/commands.hpp"
#include "reports/commands/option_checks.hpp"
#include "reports/commands/outputs.hpp"
#include "reports/commands/progress_line.hpp"
#include "reports/commands/scenario_input.hpp"
#include "reports/commands/scenario_source.hpp"
#include "reports/output_file.hpp"
#include "reports/sweep_columns.hpp"
#include "reports/sweep_report.hpp"

namespace rollcast {
namespace {

constexpr int kMostSteps = 100'000;
constexpr int kMostJobs = 4096;
constexpr char kProgram[] = "/proc/self/exe";

struct Arguments {
  ScenarioArguments scenario;
  std::vector<std::string> vary;
  std::uint64_t seed = 1;
  int steps = 1;
  int jobs = 0;  // 0: as many as there are cores
  std::string store;
  std::string csv;
};

std::string conflict_of(Arguments const& arguments, std::vector<VariedKey> const& grid) {
  for (VariedKey const& k : grid) {
    for (std::string const& set : arguments.scenario.options.sets) {
      if (set.starts_with(k.key + "="))
        return fmt::format("{} is both varied and set; leave out one of the two", shown(k.key));
    }
  }
  std::vector<std::string> outputs;
  for (std::string const& path : {arguments.store, arguments.csv}) {
    if (!path.empty()) outputs.push_back(path);
  }
  return output_conflict(outputs, inputs_of(arguments.scenario));
}

// What rank 0, or a program that is alone, does once the helpers are there.
int lead(Arguments const& arguments, Sweep const& sweep, SweepWorkers& workers,
         SweepIdentity const& identity) {
  std::optional<SweepStore> store;
  if (!arguments.store.empty()) {
    Parsed<SweepStore> opened = SweepStore::open(arguments.store, identity);
    if (!opened.value) return refuse(opened.error);
    store = std::move(opened.value);
  }
  Parsed<SweepResult> result;
  {
    ProgressLine progress(points_of(sweep.grid));
    result =
        run_sweep(sweep, workers, store ? &*store : nullptr, [&](std::size_t done) { progress.show(done); });
  }
  if (!result.value) return refuse(result.error);
  if (!arguments.csv.empty()) {
    std::string const csv = sweep_csv(sweep.grid, result.value->headlines);
    if (std::string const error = write_file(arguments.csv, csv); !error.empty()) return refuse(error);
  }
  int const printed = arguments.csv == "-" ? 0 : print(sweep_text(sweep, *result.value));
  return printed == 0 && result.value->failed > 0 ? 1 : printed;
}

int run(Arguments const& arguments) {
  auto const place = mpi_place();
  // What is wrong on every machine is told by one.
  bool const speaks = !place || place->rank == 0;
  if (place && place->size > 1 && !knows_mpi())
    return refuse(
        "this program was built without MPI; build it where MPI is (libopenmpi-dev), or run without mpirun");
  Parsed<std::vector<VariedKey>> grid = grid_of(arguments.vary);
  if (!grid.value) return speaks ? refuse(grid.error) : 2;
  if (std::string const conflict = conflict_of(arguments, *grid.value); !conflict.empty())
    return speaks ? refuse(conflict) : 2;
  auto const [source, unread] = read_source(arguments.scenario.file, arguments.scenario.options);
  if (!unread.empty()) {
    if (speaks) print_problems(unread);
    return 2;
  }
  Sweep const sweep{source, std::move(*grid.value), arguments.seed, arguments.steps};
  if (auto const problems = problems_of(sweep); !problems.empty()) {
    if (speaks) print_problems(problems);
    return 2;
  }
  SweepIdentity const identity = identity_of(sweep, kProgram);
  int const helpers = arguments.jobs > 0 ? arguments.jobs : usable_cores();
  ForkPool pool = forecast_pool(helpers, {source});
  if (!place || place->size == 1) {
    SweepWorkers workers(pool, helpers, nullptr, to_text(identity));
    return lead(arguments, sweep, workers, identity);
  }
  MpiRanks ranks;
  if (ranks.rank() != 0) {
    serve_sweep(pool, helpers, ranks, to_text(identity));
    return 0;
  }
  SweepWorkers workers(pool, helpers, &ranks, to_text(identity));
  return lead(arguments, sweep, workers, identity);
}

}  // namespace

void add_sweep_command(CLI::App& app, int& exit_code) {
  auto const arguments = std::make_shared<Arguments>();
  CLI::App* const command =
      app.add_subcommand("sweep", "Forecast a scenario at every combination of some values, on all cores");
  add_scenario_arguments(*command, arguments->scenario);
  command
      ->add_option("--vary", arguments->vary,
                   "Values that a key takes, or seeds (seed=1..100); may be repeated")
      ->type_name("KEY=V1,V2")
      ->allow_extra_args(false)
      ->required();
  command->add_option("--steps", arguments->steps, "Steps to simulate")
      ->capture_default_str()
      ->check(whole_number(1, kMostSteps))
      ->type_name("N");
  command->add_option("--seed", arguments->seed, "Seed of the random lengths")
      ->capture_default_str()
      ->check(whole_number(0, UINT64_MAX))
      ->type_name("S");
  add_output_file(*command, "--out", arguments->store,
                  "Keep the results in this SQLite file as they come; the same command goes on where it was");
  add_output_file(*command, "--csv", arguments->csv, "Write all points as CSV (- in place of the summary)");
  command->add_option("--jobs", arguments->jobs, "Simulations at a time (default: the cores)")
      ->check(whole_number(1, kMostJobs))
      ->type_name("N");
  command->footer(
      "Example:\n  rollcast sweep grpo.yaml --vary train.parallel.tp=1,2,4 --vary seed=1..10 --out "
      "sweep.sqlite "
      "--csv sweep.csv\nOn several machines that see the same files, one rank a core:\n  mpirun --hostfile "
      "hosts "
      "rollcast sweep ...");
  command->callback([arguments, &exit_code] { exit_code = run(*arguments); });
}

}  // namespace rollcast
