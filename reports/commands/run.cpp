#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "calibrate/price_errors.hpp"
#include "calibrate/profiles.hpp"
#include "models/pools.hpp"
#include "reports/commands/commands.hpp"
#include "reports/commands/option_checks.hpp"
#include "reports/commands/outputs.hpp"
#include "reports/commands/profile_input.hpp"
#include "reports/commands/scenario_input.hpp"
#include "reports/flight_record_json.hpp"
#include "reports/incident_dumps.hpp"
#include "reports/memory_guard.hpp"
#include "reports/memory_snapshot.hpp"
#include "reports/output_file.hpp"
#include "reports/run_draws.hpp"
#include "reports/step_peak.hpp"
#include "scenarios/explain.hpp"
#include "sim/simulate.hpp"

namespace rollcast {
namespace {

constexpr int kMostSteps = 100'000;

struct Arguments {
  ScenarioArguments scenario;
  RunOptions run;
  OutputOptions outputs;
  bool explain = false;
  std::string max_memory;
  std::string profile;
  std::string dumps;
  int draws = 0;
};

// One sentence when the forecast would take more memory than it may; empty if it fits.
std::string memory_problem(Job const& job, Arguments const& arguments) {
  std::optional<Bytes> limit;
  std::string which = "--max-memory";
  if (!arguments.max_memory.empty()) {
    limit = parse_quantity<Bytes>(arguments.max_memory).value;
  } else if (auto const free = free_memory()) {
    limit = *free * kShareOfFreeMemory;
    which = "80 % of the free memory";
  }
  Bytes const need = estimate_memory(job, arguments.run.steps);
  if (!limit || need <= *limit) return {};
  return fmt::format(
      "this forecast needs about {} of memory, {} is {}; simulate fewer steps or a smaller cluster, or raise "
      "--max-memory",
      format(need), which, format(*limit));
}

// Of each pool.
struct Prices {
  std::vector<Profile> profiles;
  std::vector<PriceErrors> errors;
};

// A profile of the user's is for the pools of its card; with one pool that is checked.
std::optional<Prices> prices_of(Arguments const& arguments, Job const& job) {
  Prices prices{profiles_for(job), price_errors_for(job)};
  if (arguments.profile.empty()) return prices;
  auto const text = read_profile(arguments.profile);
  if (!text) return std::nullopt;
  std::vector<Pool> const pools = pools_of(job);
  for (std::size_t i = 0; i < pools.size(); ++i) {
    Gpu const& gpu = pools[i].cluster.node.gpu;
    if (pools.size() > 1 && text->gpu != gpu.name) continue;
    Parsed<Profile> profile = profile_with(*text, gpu, name_of(job.rollout.kind));
    if (!profile.value) {
      print_error(arguments.profile + ": " + profile.error);
      return std::nullopt;
    }
    prices.profiles[i] = std::move(*profile.value);
    prices.errors[i] = price_errors(completed(*text, gpu, name_of(job.rollout.kind)), gpu);
  }
  return prices;
}

// A file for each rank that dumps. Empty, or what went wrong.
std::string write_dumps(EventLog const& log, std::string const& folder) {
  if (folder.empty()) return {};
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return fmt::format("cannot make the folder {}: {}", folder, error.message());
  for (FlightDump const& d : incident_dumps(log)) {
    std::string const path =
        (std::filesystem::path(folder) / (flight_record_name(d.rank) + ".json")).string();
    if (std::string problem = write_file(path, flight_record_json(d)); !problem.empty()) return problem;
  }
  return {};
}

int run(Arguments const& arguments) {
  std::vector<std::string> inputs = inputs_of(arguments.scenario);
  if (!arguments.profile.empty()) inputs.push_back(arguments.profile);
  std::string conflict = output_conflict(arguments.outputs, inputs);
  if (conflict.empty() && arguments.explain && takes_standard_output(arguments.outputs))
    conflict = "--explain and another output go to standard output; give that output its own file";
  if (!conflict.empty()) return refuse(conflict);

  int exit_code = 0;
  auto const scenario = read_scenario(arguments.scenario, exit_code);
  if (!scenario) return exit_code;
  if (auto const problems = check_simulated(*scenario); !problems.empty()) {
    print_problems(problems);
    return 2;
  }
  if (std::string const problem = memory_problem(scenario->job, arguments); !problem.empty())
    return refuse(problem);
  auto const prices = prices_of(arguments, scenario->job);
  if (!prices) return 2;
  std::vector<Profile> const& profiles = prices->profiles;
  if (arguments.explain) {
    std::string told = explain(*scenario) + "\n";
    for (Profile const& p : profiles) told += sentence(p.note) + "\n\n";
    if (std::string const error = write_file("-", told); !error.empty()) return refuse(error);
  }
  RunOptions options = arguments.run;
  options.memory_as_dealt = measures_step_peak(*scenario);
  options.record_allocations = !arguments.outputs.snapshot.empty();
  std::optional<Uncertainty> uncertainty;
  if (arguments.draws > 0)
    uncertainty =
        drawn_uncertainty({*scenario, profiles, prices->errors, options}, arguments.draws, usable_cores());
  EventLog const log = simulate(*scenario, profiles, options);
  if (log.snapshot) {
    bool const pickle = arguments.outputs.snapshot.ends_with(".pickle");
    std::string const text = pickle ? snapshot_pickle(*log.snapshot) : snapshot_json(*log.snapshot);
    if (std::string const error = write_file(arguments.outputs.snapshot, text); !error.empty())
      return refuse(error);
  }
  if (std::string const error = write_dumps(log, arguments.dumps); !error.empty()) return refuse(error);
  return write_outputs(log, arguments.outputs, uncertainty ? &*uncertainty : nullptr);
}

}  // namespace

void add_run_command(CLI::App& app, int& exit_code) {
  auto const arguments = std::make_shared<Arguments>();
  CLI::App* const command = app.add_subcommand("run", "Forecast a run: step time, utilization, memory");
  add_scenario_arguments(*command, arguments->scenario);
  command->add_option("--steps", arguments->run.steps, "Steps to simulate")
      ->capture_default_str()
      ->check(whole_number(1, kMostSteps))
      ->type_name("N");
  command->add_option("--seed", arguments->run.seed, "Seed of the random lengths")
      ->capture_default_str()
      ->check(whole_number(0, UINT64_MAX))
      ->type_name("S");
  command
      ->add_option("--draws", arguments->draws,
                   "Show p10 - p50 - p90 of every figure over so many draws of prices and lengths, 32 say")
      ->check(whole_number(kFewestDraws, kMostDraws))
      ->type_name("N");
  command
      ->add_option("--profile", arguments->profile,
                   "Prices of your own (rollcast calibrate fit); default: the built-in ones of the GPU")
      ->type_name("FILE");
  add_output_options(*command, arguments->outputs);
  add_output_file(*command, "--snapshot", arguments->outputs.snapshot,
                  "Write what PyTorch's allocator did on the rank that runs out of memory, else on the "
                  "trainer's fullest, for pytorch.org/memory_viz (a name that ends in .pickle), or as JSON");
  command
      ->add_option(
          "--dumps", arguments->dumps,
          "Write what PyTorch's flight recorders of the ranks dump in an incident into this folder, for "
          "rollcast blame")
      ->type_name("FOLDER");
  command->add_flag("--explain", arguments->explain, "Print every value and where it came from first");
  command
      ->add_option("--max-memory", arguments->max_memory,
                   "Refuse a forecast that needs more (default: 80 % of what is free)")
      ->check(memory_size())
      ->type_name("SIZE");
  command->footer(
      "Example:\n  rollcast run grpo.yaml --set train.parallel.tp=2 --json forecast.json --trace trace.json");
  command->callback([arguments, &exit_code] { exit_code = run(*arguments); });
}

}  // namespace rollcast
