#include "reports/commands/case_forecast.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "calibrate/price_errors.hpp"
#include "calibrate/profiles.hpp"
#include "models/context_limit.hpp"
#include "models/ledger.hpp"
#include "models/pools.hpp"
#include "reports/analysis.hpp"
#include "reports/expectation.hpp"
#include "reports/fitted_cases.hpp"
#include "reports/memory_guard.hpp"
#include "reports/memory_peaks.hpp"
#include "reports/run_apart.hpp"
#include "reports/step_peak.hpp"
#include "sim/simulate.hpp"

namespace rollcast {
namespace {

using Json = nlohmann::json;

// By the names of the `measured:` block; without a forecast, why.
struct Figures {
  std::map<std::string, double> values;
  std::string why;
  std::vector<std::string> unmet = {};
};

// As many as `run` takes, or up to the step that is expected to be the last.
int steps_of(Scenario const& s) {
  int const steps = RunOptions().steps;
  if (!s.expected) return steps;
  return std::max(s.expected->steps.value_or(steps), s.expected->step.value_or(0));
}

RunOptions options_of(Scenario const& s) {
  return {.steps = steps_of(s), .memory_as_dealt = measures_step_peak(s)};
}

std::string figures_text(Scenario const& s, std::vector<Profile> const& profiles, RunOptions const& options) {
  Analysis const a = analyse(simulate(s, profiles, options));
  std::string why;
  if (a.outcome != Outcome::completed) {
    why = std::string(name_of(a.outcome));
    if (!a.outcome_reason.empty()) why += ": " + a.outcome_reason;
  }
  Json values = Json::object();
  for (Comparison const& c : a.measured) {
    if (c.forecast && why.empty()) values[c.name] = *c.forecast;
  }
  std::vector<std::string> const otherwise = s.expected ? unmet(*s.expected, a) : std::vector<std::string>{};
  return Json({{"values", values}, {"why", why}, {"unmet", otherwise}})
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

Figures figures_from(ApartResult const& r) {
  if (!r.error.empty()) return {{}, "failed: " + r.error};
  Json const json = Json::parse(r.text);
  return {json["values"].get<std::map<std::string, double>>(), json["why"].get<std::string>(),
          json["unmet"].get<std::vector<std::string>>()};
}

Figures figures_of(Scenario const& s, std::vector<Profile> const& p) {
  return figures_from(run_apart([&] { return figures_text(s, p, options_of(s)); }));
}

// What the ledger alone tells where there is no run.
void add_memory(Job const& job, std::map<std::string, double>& values) {
  std::size_t const pools = std::max<std::size_t>(1, job.pools.size());
  for (std::size_t i = 0; i < pools; ++i) {
    for (RankLedger const& l : memory_ledger(on_pool(job, static_cast<int>(i)))) {
      LedgerPeak const peak = peak_of(l, named_phases(l));
      double& all = values["peak_gpu_memory_gib"];
      double& torch = values["peak_torch_memory_gib"];
      all = std::max(all, peak.bytes / GiB(1));
      torch = std::max(torch, peak.trainer_tensors / GiB(1));
    }
  }
}

// Of the fullest node: the ledger's lines and the processes of its ranks.
Bytes peak_of_hosts(Job const& job) {
  Bytes most;
  for (std::size_t i = 0; i < pools_of(job).size(); ++i) {
    Job const mine = on_pool(job, static_cast<int>(i));
    bool const both = holds_models(mine) && has_rollout(job.algorithm) && runs_here(mine, Role::rollout);
    Bytes const processes = (both ? 2 : 1) * mine.cluster.node.gpus * process_memory().host_process.value;
    most = max(most, host_peak(memory_ledger(mine), mine.cluster).bytes + processes);
  }
  return most;
}

// Why there cannot be a run; empty: there can.
std::string obstacle(Scenario const& s) {
  auto const problems = check_simulated(s);
  return problems.empty() ? memory_obstacle(s.job, steps_of(s)) : sentence(problems.front());
}

}  // namespace

ValidationCase forecast_case(Scenario const& s) {
  ValidationCase c = case_of(s);
  Figures forecast, without;
  forecast.why = obstacle(s);
  c.fitted = is_fitted(c.name, s.job);
  bool const can_run = forecast.why.empty();
  if (can_run) {
    std::vector<Profile> p = profiles_for(s.job);
    forecast = figures_of(s, p);
    if (c.fitted) {
      for (Profile& of_pool : p) of_pool = with_case_left_out(std::move(of_pool), c.name, s.job);
      without = figures_of(s, p);
    }
  } else {
    add_memory(s.job, forecast.values);
  }
  for (auto const& [name, measured] : s.measured->values) {
    if (name == "max_context_tokens")
      forecast.values[name] = static_cast<double>(longest_fitting_sequence(s.job));
    if (name == "peak_host_memory_gib") forecast.values[name] = peak_of_hosts(s.job) / GiB(1);
  }
  c.unmet = forecast.unmet;
  if (!c.expected.empty() && !can_run) c.unmet = {forecast.why};
  for (std::size_t i = 0; i < c.quantities.size(); ++i) {
    std::string const& name = s.measured->values[i].first;
    MeasuredQuantity& q = c.quantities[i];
    if (auto const found = forecast.values.find(name); found != forecast.values.end()) {
      q.predicted = found->second;
    } else {
      q.why = forecast.why.empty() ? "the run does not tell it" : forecast.why;
    }
    if (auto const found = without.values.find(name); found != without.values.end())
      q.left_out = found->second;
  }
  return c;
}

std::string drawn_case_task(std::string const& file, std::uint32_t draw) { return Json({file, draw}).dump(); }

std::string drawn_case(std::string const& task) {
  Json const json = Json::parse(task);
  auto const draw = json.at(1).get<std::uint32_t>();
  ScenarioResult const read = read_scenario_file(json.at(0).get<std::string>(), {});
  if (!read.scenario) throw std::runtime_error("no good scenario");
  Scenario const& s = *read.scenario;
  if (std::string const why = obstacle(s); !why.empty()) throw std::runtime_error(why);
  RunOptions options = options_of(s);
  auto const prices =
      perturbed(profiles_for(s.job), price_errors_for(s.job), price_scores(options.seed, draw));
  options.seed = seed_of_draw(options.seed, draw);
  return figures_text(s, prices, options);
}

void add_draws(ValidationCase& c, Scenario const& s, std::vector<ApartResult> const& draws) {
  for (ApartResult const& draw : draws) {
    Figures const figures = figures_from(draw);
    for (std::size_t i = 0; i < c.quantities.size(); ++i) {
      auto const found = figures.values.find(s.measured->values[i].first);
      if (c.quantities[i].predicted && found != figures.values.end())
        c.quantities[i].draws.push_back(found->second);
    }
  }
}

}  // namespace rollcast
