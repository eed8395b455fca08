#include "reports/contender.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "models/quantile.hpp"
#include "models/rent.hpp"

namespace rollcast {
namespace {

using Json = nlohmann::ordered_json;

std::optional<double> rent_of(Job job, std::vector<GpuRent> const& rents) {
  auto const apply = [&](ClusterSpec& c) {
    for (GpuRent const& r : rents) {
      if (r.gpu == c.node.gpu.name) c.node.gpu.dollars_per_hour = r.dollars_per_hour;
    }
  };
  apply(job.cluster);
  for (Pool& p : job.pools) apply(p.cluster);
  return dollars_per_hour(job);
}

Json wait_json(std::optional<CollectiveWait> const& w) {
  if (!w) return nullptr;
  return Json::array({w->longest.value, static_cast<int>(w->phase), w->what, w->timeout.value});
}

std::optional<CollectiveWait> wait_from(Json const& j) {
  if (j.is_null()) return std::nullopt;
  return CollectiveWait{Seconds(j.at(0).get<double>()), j.at(1).get<Phase>(), j.at(2).get<std::string>(),
                        Seconds(j.at(3).get<double>())};
}

void add_share(std::vector<PathShare>& path, PathShare const& s, double weight) {
  auto const same = std::find_if(
      path.begin(), path.end(), [&](PathShare const& p) { return p.phase == s.phase && p.cause == s.cause; });
  if (same == path.end()) {
    path.push_back({s.phase, s.cause, s.seconds * weight});
  } else {
    same->seconds += s.seconds * weight;
  }
}

void add_phases(ContenderFigures& f, ContenderRun const& r, double weight) {
  for (std::size_t i = 0; i < r.headline.phases.size(); ++i) {
    PhaseHeadline const& p = r.headline.phases[i];
    auto const same = std::find_if(f.phases.begin(), f.phases.end(), [&](PhaseHeadline const& q) {
      return q.phase == p.phase && q.pool == p.pool;
    });
    auto const at = static_cast<std::size_t>(same - f.phases.begin());
    if (same == f.phases.end()) {
      f.phases.push_back({p.phase, p.pool, {}});
      f.exposed.emplace_back();
    }
    f.phases[at].mean += p.mean * weight;
    f.exposed[at] += r.exposed.at(i) * weight;
  }
}

// Runs of one contender have the same pools.
void add_pools(ContenderFigures& f, ContenderRun const& r, double weight) {
  if (f.pools.empty()) {
    for (PoolHeadline const& p : r.headline.pools)
      f.pools.push_back({p.name, p.gpus, 0, 0, 0, {}, p.capacity, {}, {}, {}});
    f.pool_gpus = r.gpus;
    for (auto const& causes : r.idle_by_cause) {
      f.idle_by_cause.push_back(causes);
      for (auto& [cause, share] : f.idle_by_cause.back()) share = 0;
    }
  }
  if (r.headline.pools.size() != f.pools.size()) return;  // its process failed
  for (std::size_t i = 0; i < f.pools.size(); ++i) {
    PoolHeadline const& p = r.headline.pools[i];
    PoolHeadline& sum = f.pools[i];
    sum.busy_fraction += p.busy_fraction * weight;
    sum.mfu += p.mfu * weight;
    sum.mbu += p.mbu * weight;
    sum.host_peak = max(sum.host_peak, p.host_peak);
    if (sum.peak < p.peak) {
      sum.peak = p.peak;
      sum.peak_phase = p.peak_phase;
    }
    for (std::size_t k = 0; k < f.idle_by_cause[i].size(); ++k)
      f.idle_by_cause[i][k].second += r.idle_by_cause.at(i).at(k).second * weight;
  }
}

std::optional<ServingHeadline> mean_serving(std::vector<ContenderRun const*> const& runs) {
  std::optional<ServingHeadline> mean;
  std::array<int, kServingColumns> known{};
  for (ContenderRun const* r : runs) {
    if (!r->headline.serving) continue;
    ServingHeadline const& s = *r->headline.serving;
    if (!mean) mean = ServingHeadline{s.execution, s.pool, s.objective, {}};
    for (std::size_t i = 0; i < kServingColumns; ++i) {
      if (!s.values[i]) continue;
      mean->values[i] = mean->values[i].value_or(0) + *s.values[i];
      ++known[i];
    }
  }
  for (std::size_t i = 0; mean && i < kServingColumns; ++i) {
    if (known[i] > 0) *mean->values[i] /= known[i];
  }
  return mean;
}

StepTimes times_of(std::vector<Seconds> steps) {
  StepTimes t;
  t.steps = static_cast<int>(steps.size());
  if (steps.empty()) return t;
  for (Seconds const s : steps) t.mean += s / t.steps;
  std::sort(steps.begin(), steps.end());
  t.p10 = interpolated_quantile(steps, 0.1);
  t.p50 = interpolated_quantile(steps, 0.5);
  t.p90 = interpolated_quantile(steps, 0.9);
  return t;
}

}  // namespace

ContenderRun contender_run(EventLog const& log, Job const& job, std::vector<GpuRent> const& rents) {
  Analysis const a = analyse(log);
  ContenderRun r;
  r.headline = headline_of(a);
  for (StepRecord const& s : log.steps) r.steps.push_back(s.end - s.start);
  for (PoolUse const& p : a.pools) {
    r.gpus.push_back(p.gpu);
    r.idle_by_cause.push_back(p.idle_by_cause);
  }
  for (PhaseTime const& p : a.phases) r.exposed.push_back(p.exposed);
  r.critical_path = a.critical_path;
  r.collective_wait = longest_collective_wait(log, job);
  r.dollars_per_hour = rent_of(job, rents);
  add_rent(r.headline, r.dollars_per_hour);
  return r;
}

ContenderRun contender_run(ScenarioSource const& source, ForecastTask const& task,
                           std::vector<GpuRent> const& rents) {
  SimulatedTask const t = simulated(source, task);
  if (t.scenario) return contender_run(t.log, t.scenario->job, rents);
  ContenderRun r;
  r.headline.outcome = Outcome::infeasible;
  r.headline.reason = t.infeasible;
  return r;
}

std::string to_text(ContenderRun const& r) {
  Json steps = Json::array(), idle = Json::array(), exposed = Json::array(), path = Json::array();
  for (Seconds const s : r.steps) steps.push_back(s.value);
  for (auto const& pool : r.idle_by_cause) {
    Json causes = Json::array();
    for (auto const& [cause, share] : pool) causes.push_back(Json::array({cause, share}));
    idle.push_back(std::move(causes));
  }
  for (Seconds const s : r.exposed) exposed.push_back(s.value);
  for (PathShare const& p : r.critical_path) path.push_back(Json::array({p.phase, p.cause, p.seconds.value}));
  return Json::array({to_text(r.headline), steps, r.gpus, idle, exposed, path, wait_json(r.collective_wait),
                      r.dollars_per_hour ? Json(*r.dollars_per_hour) : Json()})
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

ContenderRun contender_run_from_text(std::string const& text) {
  Json const j = Json::parse(text);
  ContenderRun r;
  r.headline = headline_from_text(j.at(0).get<std::string>());
  for (Json const& s : j.at(1)) r.steps.emplace_back(s.get<double>());
  r.gpus = j.at(2).get<std::vector<std::string>>();
  for (Json const& pool : j.at(3)) {
    auto& causes = r.idle_by_cause.emplace_back();
    for (Json const& c : pool) causes.emplace_back(c.at(0).get<std::string>(), c.at(1).get<double>());
  }
  for (Json const& s : j.at(4)) r.exposed.emplace_back(s.get<double>());
  for (Json const& p : j.at(5))
    r.critical_path.push_back(
        {p.at(0).get<std::string>(), p.at(1).get<std::string>(), Seconds(p.at(2).get<double>())});
  r.collective_wait = wait_from(j.at(6));
  if (!j.at(7).is_null()) r.dollars_per_hour = j.at(7).get<double>();
  return r;
}

ContenderRun contender_run_of(ApartResult const& result) {
  if (result.error.empty()) return contender_run_from_text(result.text);
  ContenderRun r;
  r.headline.outcome = Outcome::failed;
  r.headline.reason = result.error;
  return r;
}

ContenderFigures figures_of(std::vector<ContenderRun> const& runs) {
  ContenderFigures f;
  for (ContenderRun const& r : runs) {
    if (is_complete(r.headline)) {
      ++f.completed;
    } else if (f.outcome == Outcome::completed) {
      f.outcome = r.headline.outcome;
      f.reason = r.headline.reason;
    }
  }
  std::vector<ContenderRun const*> counted;
  for (ContenderRun const& r : runs) {
    if (f.completed == 0 || is_complete(r.headline)) counted.push_back(&r);
  }
  double const weight = 1.0 / static_cast<double>(std::max<std::size_t>(1, counted.size()));
  std::vector<Seconds> steps;
  Seconds time;
  double samples = 0, tokens = 0, staleness = 0, dollars = 0;
  int with_staleness = 0, with_dollars = 0;
  for (ContenderRun const* r : counted) {
    Headline const& h = r->headline;
    f.gpus = std::max(f.gpus, h.gpus);
    add_pools(f, *r, weight);
    if (r->collective_wait &&
        (!f.collective_wait || f.collective_wait->longest < r->collective_wait->longest))
      f.collective_wait = r->collective_wait;
    if (f.completed == 0) continue;
    Seconds const of_run = h.step * h.steps;
    time += of_run;
    samples += h.samples_per_second * of_run.value;
    tokens += h.tokens_per_second_per_gpu * static_cast<double>(h.gpus) * of_run.value;
    steps.insert(steps.end(), r->steps.begin(), r->steps.end());
    add_phases(f, *r, weight);
    for (PathShare const& p : r->critical_path) add_share(f.critical_path, p, weight);
    f.mean_response_tokens += h.mean_response_tokens * weight;
    f.preemptions_per_step += static_cast<double>(h.preemptions) / h.steps * weight;
    f.sync += h.sync * weight;
    staleness += h.mean_staleness.value_or(0);
    with_staleness += h.mean_staleness ? 1 : 0;
    dollars += h.dollars_per_step.value_or(0);
    with_dollars += h.dollars_per_step ? 1 : 0;
  }
  f.step = times_of(std::move(steps));
  f.serving = mean_serving(counted);
  for (PathShare const& p : f.critical_path) {
    if (p.phase == name_of(Phase::weight_sync)) f.exposed_sync += p.seconds;
  }
  if (f.step.steps == 0) return f;
  f.samples_per_step = samples / f.step.steps;
  f.tokens_per_step = tokens / f.step.steps;
  f.samples_per_second = samples / time.value;
  f.tokens_per_second = tokens / time.value;
  f.gpu_hours_per_step = static_cast<double>(f.gpus) * f.step.mean.value / 3600;
  if (with_staleness > 0) f.mean_staleness = staleness / with_staleness;
  if (with_dollars == f.completed) f.dollars_per_step = dollars / with_dollars;
  return f;
}

}  // namespace rollcast
