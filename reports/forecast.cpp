#include "reports/forecast.hpp"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "calibrate/price_errors.hpp"
#include "calibrate/profiles.hpp"
#include "models/rent.hpp"
#include "reports/analysis.hpp"
#include "reports/commands/memory_guard.hpp"
#include "reports/step_peak.hpp"
#include "sim/simulate.hpp"

namespace rollcast {
namespace {

using Json = nlohmann::json;

Headline infeasible(std::string reason) {
  Headline h;
  h.outcome = Outcome::infeasible;
  h.reason = std::move(reason);
  return h;
}

Headline infeasible(Problem const& p) {
  return infeasible(p.key.empty() ? p.what : fmt::format("{}: {}", p.key, p.what));
}

}  // namespace

std::string to_text(ForecastTask const& t) {
  return Json({t.source, t.sets, t.seed, t.steps, t.draw ? Json(*t.draw) : Json()})
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

ForecastTask forecast_task_from_text(std::string const& text) {
  Json const j = Json::parse(text);
  return {j.at(0).get<int>(), j.at(1).get<std::vector<std::string>>(), j.at(2).get<std::uint64_t>(),
          j.at(3).get<int>(), j.at(4).is_null() ? std::nullopt : std::optional(j.at(4).get<std::uint32_t>())};
}

Headline forecast(ScenarioSource const& source, ForecastTask const& task) {
  ScenarioOptions options = source.options;
  options.sets.insert(options.sets.end(), task.sets.begin(), task.sets.end());
  ScenarioResult const read = read_scenario_text(source.text, source.file, options);
  if (!read.scenario) return infeasible(read.problems.front());
  Scenario const& s = *read.scenario;
  if (auto const problems = check_simulated(s); !problems.empty()) return infeasible(problems.front());
  Bytes const need = estimate_memory(s.job, task.steps);
  auto const free = free_memory();
  if (free && need > *free * kShareOfFreeMemory)
    return infeasible(
        fmt::format("the forecast needs about {} of memory, {} are free", format(need), format(*free)));
  RunOptions run{.steps = task.steps, .seed = task.seed, .memory_as_dealt = measures_step_peak(s)};
  std::vector<Profile> prices = profiles_for(s.job);
  if (task.draw) {
    prices = perturbed(prices, price_errors_for(s.job), price_scores(task.seed, *task.draw));
    run.seed = seed_of_draw(task.seed, *task.draw);
  }
  Headline h = headline_of(analyse(simulate(s, prices, run)));
  if (auto const rent = dollars_per_hour(s.job); rent && h.steps > 0)
    h.dollars_per_step = *rent * h.step.value / 3600;
  return h;
}

ForkPool forecast_pool(int workers, std::vector<ScenarioSource> sources) {
  return ForkPool(workers, [sources = std::move(sources)](std::string const& text) {
    ForecastTask const task = forecast_task_from_text(text);
    return to_text(forecast(sources.at(static_cast<std::size_t>(task.source)), task));
  });
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
