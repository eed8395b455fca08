#include "reports/plan_space.hpp"

#include <algorithm>
#include <utility>

#include "models/pools.hpp"
#include "reports/plan_estimate.hpp"
#include "scenarios/scenario.hpp"

namespace rollcast {
namespace {

constexpr std::size_t kMostReads = 256;  // to find one good job of a site

// Every combination of the knobs' values, the last knob the fastest.
template <class F>
void for_each_choice(std::vector<PlanKnob> const& knobs, F const& f) {
  PlanChoice choice(knobs.size(), 0);
  while (true) {
    f(choice);
    std::size_t k = knobs.size();
    while (k > 0 && ++choice[k - 1] == knobs[k - 1].values.size()) choice[--k] = 0;
    if (k == 0) return;
  }
}

std::int64_t combinations(std::vector<PlanKnob> const& knobs) {
  std::int64_t n = 1;
  for (PlanKnob const& k : knobs) n *= static_cast<std::int64_t>(k.values.size());
  return n;
}

void append_sets(std::vector<std::string>& sets, std::vector<PlanKnob> const& knobs,
                 PlanChoice const& choice) {
  for (std::size_t k = 0; k < knobs.size(); ++k) {
    std::vector<std::string> const& more = knobs[k].values[choice[k]].sets;
    sets.insert(sets.end(), more.begin(), more.end());
  }
}

// Ranks of a replica divide the GPUs; most choices end here, before anything is copied or read.
bool divides(std::vector<PlanKnob> const& knobs, PlanChoice const& choice, std::int64_t gpus) {
  std::int64_t ranks = 1;
  for (std::size_t k = 0; k < knobs.size(); ++k) {
    std::string const& name = knobs[k].name;
    if (name.ends_with("parallel.tp") || name == "train.parallel.pp" || name == "train.parallel.cp")
      ranks *= static_cast<std::int64_t>(knobs[k].values[choice[k]].number);
  }
  return gpus % ranks == 0;
}

std::int64_t gpus_of(Job const& base, Role role) { return on_pool(base, pool_of(base, role)).cluster.gpus(); }

// States of a trainer with GPUs of its own stay there.
bool moves_for_nothing(PlanSite const& site, Job const& job) {
  return site.apart && (job.framework.optimizer_offload || job.framework.parameters_offload);
}

// A good job of the site: the file's choices or the first others that read.
std::optional<Job> base_of(PlanSpace const& s, PlanSite const& site, ScenarioSource const& source,
                           Job const& file) {
  auto const read = [&](PlanChoice const& trainer, PlanChoice const& engine) -> std::optional<Job> {
    std::vector<std::string> sets = site.sets;
    append_sets(sets, s.trainer_knobs, trainer);
    append_sets(sets, s.engine_knobs, engine);
    ScenarioResult const result = read_with(source, sets);
    if (!result.scenario || !check_simulated(*result.scenario).empty()) return std::nullopt;
    return result.scenario->job;
  };
  PlanChoice const trainer = choice_of(s.trainer_knobs, file);
  PlanChoice const engine = choice_of(s.engine_knobs, file);
  if (auto job = read(trainer, engine)) return job;
  std::optional<Job> found;
  std::size_t reads = 0;
  PlanChoice const smallest(s.engine_knobs.size(), 0);
  for_each_choice(s.trainer_knobs, [&](PlanChoice const& c) {
    bool const candidate = !found && reads < kMostReads && divides(s.trainer_knobs, c, s.gpus);
    if (!candidate) return;
    ++reads;
    found = read(c, smallest);
  });
  return found;
}

std::optional<SiteLayouts> layouts_of(PlanSpace const& s, PlanSite const& site, ScenarioSource const& source,
                                      Job const& file, ParameterCounts const& parameters) {
  std::optional<Job> const base = base_of(s, site, source, file);
  if (!base) return std::nullopt;
  bool const rollout = has_rollout(base->algorithm);
  std::vector<PlanChoice> trainers;
  std::vector<Job> trainer_jobs;
  std::vector<double> trainer_seconds;
  for_each_choice(s.trainer_knobs, [&](PlanChoice const& c) {
    if (!divides(s.trainer_knobs, c, gpus_of(*base, Role::actor))) return;
    Job job = *base;
    apply(s.trainer_knobs, c, job);
    if (moves_for_nothing(site, job) || !check(job).empty()) return;
    trainers.push_back(c);
    trainer_seconds.push_back(estimate_training(job, parameters));
    trainer_jobs.push_back(std::move(job));
  });
  std::vector<PlanChoice> engines;
  std::vector<EngineOptions> engine_options;
  std::vector<double> engine_seconds;
  for_each_choice(s.engine_knobs, [&](PlanChoice const& c) {
    if (rollout && !divides(s.engine_knobs, c, gpus_of(*base, Role::rollout))) return;
    Job job = *base;
    apply(s.engine_knobs, c, job);
    if (!check(job).empty()) return;
    engines.push_back(c);
    engine_seconds.push_back(estimate_generation(job, parameters));
    engine_options.push_back(job.rollout);
  });
  if (trainers.empty() || engines.empty()) return std::nullopt;
  SiteLayouts out{site,
                  *base,
                  std::move(trainers),
                  std::move(engines),
                  PeakTable(trainer_jobs, engine_options),
                  std::move(trainer_seconds),
                  std::move(engine_seconds),
                  0};
  for (std::size_t t = 0; t < out.trainers.size(); ++t) {
    for (std::size_t e = 0; e < out.engines.size(); ++e) out.fitting += out.table.peak({t, e}).fits() ? 1 : 0;
  }
  return out;
}

std::optional<std::size_t> find(std::vector<PlanChoice> const& sorted, PlanChoice const& c) {
  auto const at = std::lower_bound(sorted.begin(), sorted.end(), c);
  if (at == sorted.end() || *at != c) return std::nullopt;
  return static_cast<std::size_t>(at - sorted.begin());
}

bool kept(std::vector<std::string> const& keep, std::string const& name) {
  return std::find(keep.begin(), keep.end(), name) != keep.end();
}

void hold(std::vector<PlanKnob>& knobs, std::vector<std::string> const& keep) {
  std::erase_if(knobs, [&](PlanKnob const& k) { return kept(keep, k.name); });
}

bool wanted(PlanSite const& site, Job const& file, std::vector<std::string> const& keep) {
  bool const apart = has_rollout(file.algorithm) && !colocated(file);
  if (kept(keep, "placement") && site.apart != apart) return false;
  return !kept(keep, "schedule") || site.schedule == file.schedule.kind;
}

}  // namespace

PlanSpace plan_space(ScenarioSource const& source, Job const& file, int gpus,
                     std::vector<std::string> const& keep) {
  PlanSpace s;
  s.gpus = gpus;
  s.trainer_knobs = trainer_knobs(file);
  s.engine_knobs = engine_knobs(file);
  hold(s.trainer_knobs, keep);
  hold(s.engine_knobs, keep);
  ParameterCounts const parameters = count_parameters(file.model);
  for (PlanSite const& site : plan_sites(file, gpus)) {
    if (!wanted(site, file, keep)) continue;
    s.written += combinations(s.trainer_knobs) * combinations(s.engine_knobs);
    auto layouts = layouts_of(s, site, source, file, parameters);
    if (!layouts) continue;
    s.valid += static_cast<std::int64_t>(layouts->trainers.size() * layouts->engines.size());
    s.fitting += layouts->fitting;
    s.sites.push_back(std::move(*layouts));
  }
  return s;
}

LayoutPeak peak_of(PlanSpace const& s, PlanLayout const& l) {
  return s.sites[l.site].table.peak({l.trainer, l.engine});
}

bool fits(PlanSpace const& s, PlanLayout const& l) { return peak_of(s, l).fits(); }

double estimate(PlanSpace const& s, PlanLayout const& l) {
  SiteLayouts const& site = s.sites[l.site];
  double const train = site.trainer_seconds[l.trainer];
  double const generate = site.engine_seconds[l.engine];
  return site.site.schedule == ScheduleKind::synchronous ? train + generate : std::max(train, generate);
}

Job job_of(PlanSpace const& s, PlanLayout const& l) {
  SiteLayouts const& site = s.sites[l.site];
  Job job = site.base;
  apply(s.trainer_knobs, site.trainers[l.trainer], job);
  apply(s.engine_knobs, site.engines[l.engine], job);
  return job;
}

std::vector<std::string> sets_of(PlanSpace const& s, PlanLayout const& l) {
  SiteLayouts const& site = s.sites[l.site];
  std::vector<std::string> sets = site.site.sets;
  append_sets(sets, s.trainer_knobs, site.trainers[l.trainer]);
  append_sets(sets, s.engine_knobs, site.engines[l.engine]);
  return sets;
}

std::optional<PlanLayout> layout_of_file(PlanSpace const& s, Job const& file) {
  PlanChoice const trainer = choice_of(s.trainer_knobs, file);
  PlanChoice const engine = choice_of(s.engine_knobs, file);
  for (std::size_t i = 0; i < s.sites.size(); ++i) {
    SiteLayouts const& site = s.sites[i];
    if (!site.site.sets.empty() && file.pools.empty()) continue;
    auto const t = find(site.trainers, trainer);
    auto const e = find(site.engines, engine);
    if (t && e && site.site.schedule == file.schedule.kind) return PlanLayout{i, *t, *e};
  }
  return std::nullopt;
}

std::size_t knob_count(PlanSpace const& s) { return s.trainer_knobs.size() + s.engine_knobs.size() + 1; }

std::string knob_name(PlanSpace const& s, std::size_t knob) {
  std::size_t const trainers = s.trainer_knobs.size();
  if (knob < trainers) return s.trainer_knobs[knob].name;
  if (knob < trainers + s.engine_knobs.size()) return s.engine_knobs[knob - trainers].name;
  return "placement and schedule";
}

std::string value_text(PlanSpace const& s, std::size_t knob, PlanLayout const& l) {
  SiteLayouts const& site = s.sites[l.site];
  std::size_t const trainers = s.trainer_knobs.size();
  if (knob < trainers) return s.trainer_knobs[knob].values[site.trainers[l.trainer][knob]].text;
  if (knob < trainers + s.engine_knobs.size()) {
    std::size_t const k = knob - trainers;
    return s.engine_knobs[k].values[site.engines[l.engine][k]].text;
  }
  return site.site.placement + ", " + std::string(name_of(site.site.schedule));
}

std::vector<PlanLayout> neighbours(PlanSpace const& s, PlanLayout const& l, std::size_t knob) {
  SiteLayouts const& site = s.sites[l.site];
  std::size_t const trainers = s.trainer_knobs.size();
  std::vector<PlanLayout> out;
  if (knob >= trainers + s.engine_knobs.size()) {
    // States stay on the GPU where the engines are elsewhere, so another site may need another choice there.
    for (std::size_t i = 0; i < s.sites.size(); ++i) {
      if (i == l.site) continue;
      PlanChoice trainer = site.trainers[l.trainer];
      for (std::size_t k = 0; k < trainers; ++k) {
        if (s.trainer_knobs[k].name == "framework.*_offload" && s.sites[i].site.apart) trainer[k] = 0;
      }
      auto const t = find(s.sites[i].trainers, trainer);
      auto const e = find(s.sites[i].engines, site.engines[l.engine]);
      if (t && e) out.push_back({i, *t, *e});
    }
    return out;
  }
  bool const of_trainer = knob < trainers;
  std::size_t const k = of_trainer ? knob : knob - trainers;
  PlanKnob const& values = of_trainer ? s.trainer_knobs[k] : s.engine_knobs[k];
  std::vector<PlanChoice> const& list = of_trainer ? site.trainers : site.engines;
  PlanChoice choice = list[of_trainer ? l.trainer : l.engine];
  std::uint8_t const own = choice[k];
  for (std::uint8_t v = 0; v < values.values.size(); ++v) {
    if (v == own) continue;
    choice[k] = v;
    auto const found = find(list, choice);
    if (!found) continue;
    PlanLayout other = l;
    (of_trainer ? other.trainer : other.engine) = *found;
    out.push_back(other);
  }
  return out;
}

}  // namespace rollcast
