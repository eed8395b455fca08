#include "reports/forecast.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>
#include <tuple>
#include <utility>

#include "calibrate/price_errors.hpp"
#include "calibrate/profiles.hpp"
#include "models/kernels.hpp"
#include "models/pools.hpp"
#include "models/rent.hpp"
#include "reports/analysis.hpp"
#include "reports/memory_guard.hpp"
#include "reports/step_peak.hpp"
#include "sim/simulate.hpp"

namespace rollcast {
namespace {

using Json = nlohmann::json;

SimulatedTask infeasible(std::string reason) { return {std::nullopt, {}, std::move(reason)}; }

using ProfilesOf = std::function<std::vector<Profile>(Job const&)>;

SimulatedTask simulated(ScenarioResult read, ForecastTask const& task, ProfilesOf const& profiles) {
  if (!read.scenario) return infeasible(sentence(read.problems.front()));
  Scenario& s = *read.scenario;
  if (auto const problems = check_simulated(s); !problems.empty())
    return infeasible(sentence(problems.front()));
  if (std::string why = memory_obstacle(s.job, task.steps); !why.empty()) return infeasible(std::move(why));
  RunOptions run{.steps = task.steps, .seed = task.seed, .memory_as_dealt = measures_step_peak(s)};
  std::vector<Profile> prices = profiles(s.job);
  if (task.draw) {
    prices = perturbed(prices, price_errors_for(s.job), price_scores(task.seed, *task.draw));
    run.seed = seed_of_draw(task.seed, *task.draw);
  }
  EventLog log = simulate(s, prices, run);
  return {std::move(s), std::move(log), ""};
}

Headline headline(SimulatedTask const& t) {
  Headline h;
  if (!t.scenario) {
    h.outcome = Outcome::infeasible;
    h.reason = t.infeasible;
    return h;
  }
  h = headline_of(analyse(t.log));
  add_rent(h, dollars_per_hour(t.scenario->job));
  return h;
}

bool same(Gpu const& a, Gpu const& b) {
  // Every member is bound, so that a new one is not forgotten. Sources do not change a price.
  auto const values = [](Gpu const& gpu) {
    auto const& [name, bf16, fp8, box, visible, bandwidth, l2, sms, nvlink, pcie, dollars, sources] = gpu;
    return std::tuple(name,
                      std::array{bf16.value, fp8.value, box.value, visible.value, bandwidth.value, l2.value,
                                 static_cast<double>(sms), nvlink.value, pcie.value, dollars});
  };
  return values(a) == values(b);
}

// In a helper of the pool: reads the scenario and makes what the profiles of its cards need, so that the
// children find it.
class Forecaster {
 public:
  explicit Forecaster(std::vector<ScenarioSource> sources) : sources_(std::move(sources)) {}

  void prepare(std::string const& text) {
    ForecastTask const task = forecast_task_from_text(text);
    prepared_ = text;
    read_ = read_with(source_of(task), task.sets);
    if (!read_.scenario) return;
    Job const& job = read_.scenario->job;
    for (Pool const& pool : pools_of(job)) keep_profile(pool.cluster.node.gpu, name_of(job.rollout.kind));
  }

  Headline forecast_of(std::string const& text) const {
    ForecastTask const task = forecast_task_from_text(text);
    auto const profiles = [this](Job const& job) { return profiles_of(job); };
    bool const prepared = text == prepared_;
    return headline(simulated(prepared ? read_ : read_with(source_of(task), task.sets), task, profiles));
  }

 private:
  struct Known {
    Gpu gpu;
    std::string_view engine;
    Profile profile;
  };
  static constexpr std::size_t kMostKnown = 16;

  ScenarioSource const& source_of(ForecastTask const& task) const {
    return sources_.at(static_cast<std::size_t>(task.source));
  }

  Known const* find(Gpu const& gpu, std::string_view engine) const {
    auto const it = std::find_if(known_.begin(), known_.end(),
                                 [&](Known const& k) { return k.engine == engine && same(k.gpu, gpu); });
    return it == known_.end() ? nullptr : &*it;
  }

  void keep_profile(Gpu const& gpu, std::string_view engine) {
    if (find(gpu, engine) != nullptr || known_.size() == kMostKnown) return;
    known_.push_back({gpu, engine, profile_for(gpu, engine)});
    // Grids of products are made when they are first asked for.
    if (Kernels const* const kernels = known_.back().profile.kernels.get()) {
      for (GemmTable const& t : kernels->tables().gemm) kernels->gemm(t.kind);
    }
  }

  std::vector<Profile> profiles_of(Job const& job) const {
    std::vector<Profile> profiles;
    for (Pool const& pool : pools_of(job)) {
      Gpu const& gpu = pool.cluster.node.gpu;
      std::string_view const engine = name_of(job.rollout.kind);
      Known const* const known = find(gpu, engine);
      profiles.push_back(known != nullptr ? known->profile : profile_for(gpu, engine));
    }
    return profiles;
  }

  std::vector<ScenarioSource> sources_;
  std::vector<Known> known_;
  std::string prepared_;  // the task that read_ is of
  ScenarioResult read_;
};

}  // namespace

ScenarioResult read_with(ScenarioSource const& source, std::vector<std::string> const& sets) {
  ScenarioOptions options = source.options;
  options.sets.insert(options.sets.end(), sets.begin(), sets.end());
  return read_scenario_text(source.text, source.file, options);
}

std::string to_text(ForecastTask const& t) {
  return Json({t.source, t.sets, t.seed, t.steps, t.draw ? Json(*t.draw) : Json()})
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

ForecastTask forecast_task_from_text(std::string const& text) {
  Json const j = Json::parse(text);
  return {j.at(0).get<int>(), j.at(1).get<std::vector<std::string>>(), j.at(2).get<std::uint64_t>(),
          j.at(3).get<int>(), j.at(4).is_null() ? std::nullopt : std::optional(j.at(4).get<std::uint32_t>())};
}

SimulatedTask simulated(ScenarioSource const& source, ForecastTask const& task) {
  return simulated(read_with(source, task.sets), task, profiles_for);
}

Headline forecast(ScenarioSource const& source, ForecastTask const& task) {
  return headline(simulated(source, task));
}

ForkPool forecast_pool(int workers, std::vector<ScenarioSource> sources) {
  auto const forecaster = std::make_shared<Forecaster>(std::move(sources));
  return ForkPool(
      workers, [forecaster](std::string const& task) { return to_text(forecaster->forecast_of(task)); },
      [forecaster](std::string const& task) { forecaster->prepare(task); });
}

Headline headline_of(ApartResult const& result) {
  if (result.error.empty()) return headline_from_text(result.text);
  Headline h;
  h.outcome = Outcome::failed;
  h.reason = result.error;
  return h;
}

std::vector<Headline> forecast_all(ForkPool& pool, std::vector<ForecastTask> const& tasks) {
  std::vector<std::string> texts;
  for (ForecastTask const& t : tasks) texts.push_back(to_text(t));
  std::vector<Headline> headlines;
  for (ApartResult const& r : run_all(pool, texts)) headlines.push_back(headline_of(r));
  return headlines;
}

}  // namespace rollcast
