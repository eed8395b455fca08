#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "reports/commands/commands.hpp"
#include "reports/commands/option_checks.hpp"
#include "reports/commands/outputs.hpp"
#include "reports/commands/scenario_input.hpp"
#include "reports/commands/scenario_source.hpp"
#include "reports/html_page.hpp"
#include "reports/ratio_sweep.hpp"
#include "reports/ratio_text.hpp"

namespace rollcast {
namespace {

constexpr int kWidth = 100;
constexpr int kMostSeeds = 100;
constexpr int kMostSteps = 1000;
constexpr int kMostGpus = 1'000'000;
constexpr int kMostJobs = 1024;

// CLI11's own range lets "nan" through.
CLI::Validator number_from(double least, double most) {
  auto const check = [least, most](std::string const& text) -> std::string {
    double value = 0;
    char const* const end = text.data() + text.size();
    auto const [stop, error] = std::from_chars(text.data(), end, value);
    if (error == std::errc() && stop == end && least <= value && value <= most) return {};
    return fmt::format("'{}' is not a number from {} to {}", text, least, most);
  };
  return CLI::Validator(check, "");
}

struct Arguments {
  ScenarioArguments scenario;
  RatioOptions ratio;
  int seeds = 3;
  int jobs = 0;  // 0: as many as there are cores
  OutputOptions outputs;
};

void show_progress(std::size_t ended, std::size_t asked) {
  if (::isatty(STDERR_FILENO) != 1) return;
  std::string const line =
      ended < asked ? fmt::format("\r\033[K{} of {} forecasts", ended, asked) : std::string("\r\033[K");
  std::fputs(line.c_str(), stderr);
}

int ratio(Arguments const& a) {
  if (std::string const conflict = output_conflict(a.outputs, inputs_of(a.scenario)); !conflict.empty())
    return refuse(conflict);
  auto const base = read_base(a.scenario);
  if (!base) return 2;
  auto const& [source, scenario] = *base;
  RatioPlaceResult const place = ratio_place(scenario);
  if (!place.place) {
    print_problems({place.problem});
    return 2;
  }
  RatioOptions options = a.ratio;
  options.seeds.clear();
  for (int s = 1; s <= a.seeds; ++s) options.seeds.push_back(static_cast<std::uint64_t>(s));
  options.lengths.push_back(1);
  std::sort(options.lengths.begin(), options.lengths.end());
  options.lengths.erase(std::unique(options.lengths.begin(), options.lengths.end()), options.lengths.end());
  ForkPool pool = forecast_pool(a.jobs > 0 ? a.jobs : usable_cores(), {source});
  RatioReport const r = ratio_report(pool, source, scenario, *place.place, options, show_progress);
  return write_report(
      a.outputs,
      {[&] { return ratio_text(r, kWidth); }, [&] { return ratio_json(r); }, [&] { return ratio_csv(r); },
       [&] { return html_page("ratio", nlohmann::ordered_json::parse(ratio_json(r))); }});
}

}  // namespace

void add_ratio_command(CLI::App& app, int& exit_code) {
  auto const a = std::make_shared<Arguments>();
  CLI::App* const command =
      app.add_subcommand("ratio", "How many GPUs for rollout, how many for training, how many at all");
  add_scenario_arguments(*command, a->scenario);
  command->add_option("--total", a->ratio.total, "GPUs of both sides to split (default: those of the file)")
      ->check(whole_number(2, kMostGpus))
      ->type_name("N");
  command
      ->add_option("--rollout-gpus", a->ratio.rollout_gpus,
                   "Rollout GPUs to try beside the trainer as it is (default: multiples of what there are)")
      ->delimiter(',')
      ->check(whole_number(1, kMostGpus))
      ->type_name("N,...");
  command
      ->add_option("--staleness", a->ratio.staleness,
                   "Bounds of the staleness to try (default: a few, and the file's)")
      ->delimiter(',')
      ->check(number_from(0, 1000))
      ->type_name("S,...");
  command
      ->add_option("--lengths", a->ratio.lengths,
                   "How many times as long the responses may become; 1 is always there")
      ->delimiter(',')
      ->capture_default_str()
      ->check(number_from(0.01, 100))
      ->type_name("F,...");
  command
      ->add_option("--schedule", a->ratio.schedule,
                   "Of the splits in place of the file's: synchronous, one_step_off or async")
      ->check(CLI::IsMember({"synchronous", "one_step_off", "async"}))
      ->type_name("NAME");
  command->add_option("--steps", a->ratio.steps, "Steps to simulate of each seed")
      ->capture_default_str()
      ->check(whole_number(1, kMostSteps))
      ->type_name("N");
  command->add_option("--seeds", a->seeds, "Seeds 1 to K for every point")
      ->capture_default_str()
      ->check(whole_number(1, kMostSeeds))
      ->type_name("K");
  command->add_option("--jobs", a->jobs, "Simulations at a time (default: the cores)")
      ->check(whole_number(1, kMostJobs))
      ->type_name("N");
  add_output_file(*command, "--json", a->outputs.json, "Write every figure as JSON (- in place of the text)");
  add_output_file(*command, "--csv", a->outputs.csv, "Write a line per point of every curve");
  add_output_file(*command, "--html", a->outputs.html, "Write a page with charts, for a browser");
  command->footer(
      "Example:\n  rollcast ratio scenarios/examples/grpo-7b-async-two-pools.yaml --csv curves.csv");
  command->callback([a, &exit_code] { exit_code = ratio(*a); });
}

}  // namespace rollcast
