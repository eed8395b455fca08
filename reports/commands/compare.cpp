#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/pools.hpp"
#include "reports/commands/commands.hpp"
#include "reports/commands/option_checks.hpp"
#include "reports/commands/outputs.hpp"
#include "reports/commands/scenario_input.hpp"
#include "reports/commands/scenario_source.hpp"
#include "reports/commands/variants.hpp"
#include "reports/contest.hpp"
#include "reports/contest_report.hpp"
#include "reports/html_page.hpp"
#include "reports/validation.hpp"

namespace rollcast {
namespace {

constexpr int kMostSteps = 10'000;
constexpr int kMostSeeds = 1'000;

struct Arguments {
  std::vector<std::string> files;
  ScenarioOptions options;
  std::vector<std::string> with;
  std::vector<std::string> prices;
  int steps = 5;
  int seeds = 5;
  int draws = 0;
  std::int64_t run_steps = 0;
  OutputOptions outputs;
};

// "h100-sxm=2.1".
std::optional<GpuRent> rent_from(std::string const& text) {
  auto const equals = text.find('=');
  if (equals == std::string::npos || equals == 0) return std::nullopt;
  GpuRent r{text.substr(0, equals), 0};
  char const* const end = text.data() + text.size();
  auto const [stop, error] = std::from_chars(text.data() + equals + 1, end, r.dollars_per_hour);
  if (error != std::errc() || stop != end || !(r.dollars_per_hour > 0 && r.dollars_per_hour < 1e6))
    return std::nullopt;
  return r;
}

std::string check_rent(std::string const& text) {
  if (rent_from(text)) return {};
  return fmt::format("'{}' is no rent; write GPU=DOLLARS per hour, as in h100-sxm=2.1", text);
}

std::string check_variant(std::string const& text) { return variant_sets(text).error; }

// What is compared, before any run.
struct Entries {
  std::vector<Contender> contenders;
  std::vector<ScenarioSource> sources;  // of each contender
  std::vector<Problem> problems;        // of the contenders that cannot be read
  std::vector<Problem> slips;           // keys of --with that nobody knows: no layout that cannot be
  std::vector<std::string> gpus;        // of all that can
  int serve = 0;                        // of them
  int train = 0;
};

// One sentence where they do nothing that can be compared; empty if they do.
std::string mixed(Entries const& e, std::int64_t run_steps) {
  if (e.serve > 0 && e.train > 0)
    return "some contenders serve requests and others train; compare them apart from each other";
  if (e.serve > 0 && run_steps > 0) return "--run-steps: the contenders serve requests and have no steps";
  return {};
}

// "two.yaml", "two.yaml (2)" of a name that stands already.
std::string distinct(std::string const& name, std::vector<Contender> const& others) {
  auto const taken = [&](std::string const& n) {
    return std::any_of(others.begin(), others.end(), [&](Contender const& c) { return c.name == n; });
  };
  std::string out = name;
  for (int i = 2; taken(out); ++i) out = fmt::format("{} ({})", name, i);
  return out;
}

void enter(Entries& e, ScenarioSource source, std::string const& variant) {
  std::vector<std::string> const sets =
      variant.empty() ? std::vector<std::string>() : variant_sets(variant).sets;
  source.options.sets.insert(source.options.sets.end(), sets.begin(), sets.end());
  ScenarioResult const read = read_scenario_text(source.text, source.file, source.options);
  Contender c;
  c.file = source.file;
  c.sets = source.options.sets;
  if (read.scenario) {
    c.work = case_of(*read.scenario).work;
    ++(read.scenario->job.serve ? e.serve : e.train);
    for (Pool const& p : pools_of(read.scenario->job)) e.gpus.push_back(p.cluster.node.gpu.name);
  } else {
    e.problems.insert(e.problems.end(), read.problems.begin(), read.problems.end());
    std::copy_if(read.problems.begin(), read.problems.end(), std::back_inserter(e.slips),
                 [&](Problem const& p) { return !variant.empty() && p.what.starts_with("unknown key"); });
  }
  c.name = distinct(variant.empty() ? name_of_file(source.file) : variant, e.contenders);
  e.contenders.push_back(std::move(c));
  e.sources.push_back(std::move(source));
}

void run_all_seeds(Entries& e, std::vector<std::uint64_t> const& seeds, int steps,
                   std::vector<GpuRent> const& rents) {
  std::vector<std::string> tasks;
  for (std::size_t i = 0; i < e.contenders.size(); ++i) {
    for (std::uint64_t const seed : seeds)
      tasks.push_back(to_text(ForecastTask{static_cast<int>(i), {}, seed, steps}));
  }
  ForkPool pool(usable_cores(), [&](std::string const& text) {
    ForecastTask const task = forecast_task_from_text(text);
    return to_text(contender_run(e.sources.at(static_cast<std::size_t>(task.source)), task, rents));
  });
  std::vector<ApartResult> const results = run_all(pool, tasks);
  for (std::size_t i = 0; i < results.size(); ++i)
    e.contenders[i / seeds.size()].runs.push_back(contender_run_of(results[i]));
}

// The fastest and the next with the same draws of prices and lengths.
std::optional<DrawnSpeed> draw_prices(Contest const& c, std::vector<ScenarioSource> const& sources,
                                      int draws) {
  if (draws == 0 || !c.speed.best || !c.speed.next) return std::nullopt;
  std::vector<ForecastTask> tasks;
  for (std::size_t const i : {*c.speed.best, *c.speed.next}) {
    for (int k = 0; k < draws; ++k)
      tasks.push_back({static_cast<int>(i), {}, 1, c.steps, static_cast<std::uint32_t>(k)});
  }
  ForkPool pool = forecast_pool(usable_cores(), sources);
  std::vector<Headline> best = forecast_all(pool, tasks);
  std::vector<Headline> const next(best.begin() + draws, best.end());
  best.resize(static_cast<std::size_t>(draws));
  return drawn_speed(best, next, c.unit);
}

std::string comparison_page(Contest const& c) {
  auto data = nlohmann::ordered_json::parse(contest_json(c));
  std::string title;
  for (Contender const& k : c.contenders) title += (title.empty() ? "" : " or ") + k.name;
  data["title"] = title;
  return html_page("compare", data);
}

int compare(Arguments const& a) {
  if (a.files.size() > 1 && !a.with.empty())
    return refuse("--with makes variants of one FILE; several files are given");
  if (a.files.size() + a.with.size() < 2)
    return refuse("one contender is no comparison; give a second FILE or --with KEY=VALUE,...");
  std::vector<std::string> inputs = a.files;
  inputs.insert(inputs.end(), a.options.catalog_files.begin(), a.options.catalog_files.end());
  if (std::string const conflict = output_conflict(a.outputs, inputs); !conflict.empty())
    return refuse(conflict);

  Entries e;
  for (std::string const& file : a.files) {
    auto const [source, problems] = read_source(file, a.options);
    if (!problems.empty()) {
      print_problems(problems);
      return 2;
    }
    enter(e, source, "");
    for (std::string const& variant : a.with) enter(e, source, variant);
  }
  if (e.gpus.empty() || !e.slips.empty()) {
    print_problems(e.gpus.empty() ? e.problems : e.slips);
    return 2;
  }
  if (std::string const problem = mixed(e, a.run_steps); !problem.empty()) return refuse(problem);
  std::vector<GpuRent> rents;
  for (std::string const& price : a.prices) {
    rents.push_back(*rent_from(price));
    if (std::find(e.gpus.begin(), e.gpus.end(), rents.back().gpu) == e.gpus.end())
      return refuse(fmt::format("--price: no contender has the GPU {}", shown(rents.back().gpu)));
  }
  std::vector<std::uint64_t> seeds;
  for (int i = 0; i < a.seeds; ++i) seeds.push_back(static_cast<std::uint64_t>(i) + 1);
  run_all_seeds(e, seeds, a.steps, rents);
  Contest c = contest(std::move(e.contenders), seeds, a.steps,
                      a.run_steps > 0 ? std::optional(a.run_steps) : std::nullopt);
  c.drawn = draw_prices(c, e.sources, a.draws);
  return write_report(a.outputs, {[&] { return contest_text(c); }, [&] { return contest_json(c); },
                                  [&] { return contest_csv(c); }, [&] { return comparison_page(c); }});
}

}  // namespace

void add_compare_command(CLI::App& app, int& exit_code) {
  auto const a = std::make_shared<Arguments>();
  CLI::App* const command = app.add_subcommand(
      "compare", "Which of several layouts is faster and cheaper on the same work, and why");
  command->add_option("FILE", a->files, "Scenarios (YAML)")->required();
  command->add_option("--set", a->options.sets, "Override a value of every contender; may be repeated")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command
      ->add_option("--with", a->with, "A further contender: the one FILE with these values; may be repeated")
      ->type_name("KEY=VALUE,...")
      ->allow_extra_args(false)
      ->check(CLI::Validator(check_variant, ""));
  command
      ->add_option("--catalog", a->options.catalog_files,
                   "File that overrides or extends the catalog; may be repeated")
      ->type_name("FILE")
      ->allow_extra_args(false);
  command->add_option("--steps", a->steps, "Steps to simulate of each seed")
      ->capture_default_str()
      ->check(whole_number(1, kMostSteps))
      ->type_name("N");
  command->add_option("--seeds", a->seeds, "Seeds 1 to K for every contender; the interval needs two")
      ->capture_default_str()
      ->check(whole_number(1, kMostSeeds))
      ->type_name("K");
  command
      ->add_option("--draws", a->draws,
                   "Try the fastest against the next with so many draws of prices and lengths too, 32 say")
      ->check(whole_number(kFewestDraws, kMostDraws))
      ->type_name("N");
  command->add_option("--run-steps", a->run_steps, "Steps of the whole run, for its time and cost")
      ->check(whole_number(1, 1'000'000'000))
      ->type_name("N");
  command
      ->add_option("--price", a->prices, "Rent in the catalog's place, in dollars an hour; may be repeated")
      ->type_name("GPU=DOLLARS")
      ->allow_extra_args(false)
      ->check(CLI::Validator(check_rent, ""));
  add_output_file(*command, "--json", a->outputs.json, "Write the figures as JSON (- in place of the text)");
  add_output_file(*command, "--csv", a->outputs.csv, "Write one row per contender");
  add_output_file(*command, "--html", a->outputs.html, "Write a page with charts, for a browser");
  command->footer(
      "Examples:\n  rollcast compare colocated.yaml one-step-off.yaml --run-steps 1000\n"
      "  rollcast compare grpo.yaml --with 'train.parallel.tp=2' --with "
      "'rollout.parallel.tp=4,schedule=one_step_off'");
  command->callback([a, &exit_code] { exit_code = compare(*a); });
}

}  // namespace rollcast
