#include "reports/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/ledger.hpp"
#include "models/pools.hpp"

namespace rollcast {
namespace {

PlannedLayout planned(PlanSpace const& s, PlanLayout const& l, Headline headline) {
  Job const job = job_of(s, l);
  SiteLayouts const& site = s.sites[l.site];
  PlannedLayout p;
  p.placement = site.site.placement;
  p.schedule = name_of(site.site.schedule);
  p.trainer = job.train.parallel;
  p.data_parallel = data_parallel(on_pool(job, job.role_pools.actor));
  if (has_rollout(job.algorithm)) p.engines = rollout_engines(on_pool(job, job.role_pools.rollout));
  for (std::size_t k = 0; k + 1 < knob_count(s); ++k)
    p.values.emplace_back(knob_name(s, k), value_text(s, k, l));
  p.sets = sets_of(s, l);
  p.headline = std::move(headline);
  p.peak = peak_of(s, l);
  p.capacity = pools_of(job)[static_cast<std::size_t>(p.peak.pool)].cluster.node.gpu.visible_memory;
  return p;
}

// The largest total of a rank class in each phase of the step.
std::map<Phase, Bytes> phase_peaks(Job const& job) {
  std::map<Phase, Bytes> peaks;
  for (int pool = 0; pool < static_cast<int>(pools_of(job).size()); ++pool) {
    for (RankLedger const& l : memory_ledger(on_pool(job, pool))) {
      for (Phase p : named_phases(l)) peaks[p] = max(peaks[p], total(l, p));
    }
  }
  return peaks;
}

std::map<Phase, Seconds> phase_seconds(Headline const& h) {
  std::map<Phase, Seconds> seconds;
  for (PhaseHeadline const& p : h.phases) seconds[p.phase] += p.mean;
  return seconds;
}

// Where two maps differ, the largest difference first.
template <class Q>
std::vector<std::pair<Phase, Q>> differences(std::map<Phase, Q> const& from, std::map<Phase, Q> to) {
  for (auto const& [phase, value] : from) to[phase] -= value;
  std::vector<std::pair<Phase, Q>> out;
  for (auto const& [phase, value] : to) {
    if (std::fabs(value.value) > 0) out.emplace_back(phase, value);
  }
  std::stable_sort(out.begin(), out.end(), [](auto const& a, auto const& b) {
    return std::fabs(a.second.value) > std::fabs(b.second.value);
  });
  return out;
}

std::string lacking(LayoutPeak const& p) {
  if (!p.engine_starts) return "the rollout engine refuses to start";
  if (p.headroom.value < 0)
    return fmt::format("lacks {} on a GPU in {}", format(-p.headroom), name_of(p.phase));
  return fmt::format("lacks {} of host memory on a node", format(-p.host_headroom));
}

PlanEffect effect(PlanRuns const& runs, PlanLayout const& best, PlanLayout const& other, std::size_t knob) {
  PlanSpace const& s = runs.space();
  PlanEffect e;
  e.knob = knob_name(s, knob);
  e.from = value_text(s, knob, best);
  e.to = value_text(s, knob, other);
  LayoutPeak const before = peak_of(s, best);
  LayoutPeak const after = peak_of(s, other);
  e.peak = after.bytes - before.bytes;
  e.phase_peaks = differences(phase_peaks(job_of(s, best)), phase_peaks(job_of(s, other)));
  if (!after.fits()) {
    e.stops = lacking(after);
    return e;
  }
  Headline const& h = runs.of(other);
  if (!(std::isfinite(runs.seconds(other)))) {
    e.stops = why_not(h);
    return e;
  }
  e.step = h.step - runs.of(best).step;
  e.phases = differences(phase_seconds(runs.of(best)), phase_seconds(h));
  return e;
}

std::vector<PlanEffect> effects_of(PlanRuns& runs, PlanLayout const& best) {
  PlanSpace const& s = runs.space();
  std::vector<PlanEffect> out;
  for (std::size_t knob = 0; knob < knob_count(s); ++knob) {
    std::vector<PlanLayout> const others = neighbours(s, best, knob);
    std::vector<PlanLayout> fitting = others;
    std::erase_if(fitting, [&](PlanLayout const& l) { return !fits(s, l); });
    runs.need(fitting);
    for (PlanLayout const& l : others) out.push_back(effect(runs, best, l, knob));
  }
  std::stable_sort(out.begin(), out.end(), [](PlanEffect const& a, PlanEffect const& b) {
    if (a.step.has_value() != b.step.has_value()) return a.step.has_value();
    if (a.step) return std::fabs(a.step->value) > std::fabs(b.step->value);
    return std::fabs(a.peak.value) > std::fabs(b.peak.value);
  });
  return out;
}

std::optional<PlanShortage> nearest_miss(PlanSpace const& s) {
  std::optional<PlanLayout> nearest;
  double most = 0;
  for (std::size_t i = 0; i < s.sites.size(); ++i) {
    for (std::size_t t = 0; t < s.sites[i].trainers.size(); ++t) {
      for (std::size_t e = 0; e < s.sites[i].engines.size(); ++e) {
        LayoutPeak const p = peak_of(s, {i, t, e});
        if (!p.engine_starts) continue;
        double const room = std::min(p.headroom.value, p.host_headroom.value);
        if (nearest && room <= most) continue;
        nearest = PlanLayout{i, t, e};
        most = room;
      }
    }
  }
  if (!nearest) return std::nullopt;
  PlannedLayout const layout = planned(s, *nearest, {});
  return PlanShortage{layout, lacking(layout.peak)};
}

// 1, 2, 4, ... GPUs of a node, then whole nodes.
std::vector<int> counts_up_to(ClusterSpec const& c, int most) {
  std::vector<int> counts;
  for (int g = 1; g < c.node.gpus && g <= most; g *= 2) counts.push_back(g);
  for (int g = c.node.gpus; g <= most; g += c.node.gpus) counts.push_back(g);
  return counts;
}

void find_minimum(Plan& plan, ScenarioSource const& source, Job const& file, PlanOptions const& options,
                  PlanForecasts const& forecasts) {
  for (int gpus : counts_up_to(file.cluster, plan.most_gpus)) {
    PlanSpace const space = plan_space(source, file, gpus, options.keep);
    if (space.fitting > 0) {
      PlanRuns const runs(space, forecasts);
      if (auto const found = one_that_runs(runs)) {
        plan.minimum = MinimumGpus{gpus, planned(space, found->layout, found->headline)};
        return;
      }
    }
    plan.too_few.push_back(gpus);
  }
}

}  // namespace

Plan make_plan(ScenarioSource const& source, Scenario const& file, PlanOptions const& options,
               PlanForecasts const& forecasts) {
  Plan plan;
  plan.scenario = file.name;
  plan.seed = options.seed;
  plan.file_gpus = static_cast<int>(total_gpus(file.job));
  plan.gpus = options.gpus > 0 ? options.gpus : plan.file_gpus;
  plan.node = file.job.cluster.node.name;
  plan.gpus_of_node = file.job.cluster.node.gpus;
  plan.pools_are_fixed = !file.job.pools.empty();
  plan.most_gpus = options.most_gpus > 0 ? options.most_gpus : 4 * plan.file_gpus;
  plan.file = forecasts({{{}, 3}}).front();

  PlanSpace const space = plan_space(source, file.job, plan.gpus, options.keep);
  plan.written = space.written;
  plan.valid = space.valid;
  plan.fitting = space.fitting;
  PlanRuns runs(space, forecasts);
  if (space.fitting > 0) {
    PlanSearchOptions const how{options.exhaustive, 256, options.seed,
                                plan.gpus == plan.file_gpus ? layout_of_file(space, file.job) : std::nullopt};
    plan.exhaustive = search(runs, how);
    std::vector<PlanResult> const best = confirmed(runs, static_cast<std::size_t>(options.top));
    for (PlanResult const& r : best) plan.best.push_back(planned(space, r.layout, r.headline));
    ScheduleKind const usual = file.job.schedule.kind;
    if (!best.empty() && space.sites[best.front().layout.site].site.schedule != usual) {
      for (PlanResult const& r : confirmed(runs, 1, usual))
        plan.as_scheduled = planned(space, r.layout, r.headline);
    }
    if (!best.empty()) plan.effects = effects_of(runs, best.front().layout);
    for (PlanLayout const& l : runs.ranking()) plan.runs.push_back(planned(space, l, runs.of(l)));
  }
  plan.simulated = runs.count();
  if (plan.best.empty()) plan.shortage = nearest_miss(space);
  find_minimum(plan, source, file.job, options, forecasts);
  return plan;
}

}  // namespace rollcast
