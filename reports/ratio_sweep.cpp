#include "reports/ratio_sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "reports/seeded_forecasts.hpp"

namespace rollcast {
namespace {

constexpr double kGrowth[] = {0.5, 1, 1.5, 2, 3, 4};
constexpr double kTrainerGrowth[] = {0.5, 1, 2};
constexpr double kTotals[] = {0.5, 1, 2};
constexpr double kStaleness[] = {1, 2, 4, 8};
constexpr double kShares[] = {0, 0.25, 0.5, 1};  // of a version's samples, verl's bound
// What a point is compared with to see whether more rollout GPUs help; the second where the first cannot be.
constexpr double kMore[] = {2, 1.5};
// An engine's share of the memory goes down by it where a file with pools leaves no room on shared GPUs.
constexpr double kLessMemory = 0.1;
constexpr double kLeastShare = 0.2;

// A point that is wanted.
struct Wanted {
  std::string curve;
  RatioSize size;
  double length_factor = 1;
  std::optional<double> max_staleness;
  Sets sets;
};

bool is_one(double factor) { return std::abs(factor - 1) < 1e-12; }

bool all_completed(std::vector<Headline> const& headlines) {
  return std::all_of(headlines.begin(), headlines.end(), is_complete);
}

class Sweep {
 public:
  Sweep(ForkPool& pool, ScenarioSource const& source, Scenario const& scenario, RatioPlace const& place,
        RatioOptions const& options, std::function<void(std::size_t, std::size_t)> const& told)
      : source_(source),
        job_(scenario.job),
        place_(place),
        options_(options),
        forecasts_(pool, options.seeds, options.steps, told) {
    report_.scenario = scenario.name;
    report_.steps = options.steps;
    report_.seeds = options.seeds;
    report_.pools = {place.rollout.name, place.train.name};
    report_.rollout_node = place.rollout.node;
    report_.rollout_gpu = place.rollout.gpu;
    report_.train_node = place.train.node;
    report_.train_gpu = place.train.gpu;
    report_.total = options.total > 0 ? options.total
                    : place.made      ? place.cluster_gpus
                                      : place.rollout.gpus + place.train.gpus;
    find_schedule();
  }

  RatioReport run() {
    split();
    colocate();
    choose_base();
    if (report_.base) around_base();
    mark_bottlenecks();
    return std::move(report_);
  }

 private:
  // As the splits have it, with the framework's preset.
  void find_schedule() {
    report_.schedule = job_.schedule.kind;
    async_ = job_.schedule.async;
    for (RatioSize const& size : all_splits(place_, report_.total)) {
      ScenarioResult const read = read_with(source_, sets_of(size, 1));
      if (!read.scenario) continue;
      report_.schedule = read.scenario->job.schedule.kind;
      async_ = read.scenario->job.schedule.async;
      return;
    }
  }

  Sets sets_of(RatioSize const& size, double length_factor) const {
    Sets sets = size_sets(place_, size);
    Sets const longer = length_sets(job_, length_factor);
    sets.insert(sets.end(), longer.begin(), longer.end());
    if (!options_.schedule.empty()) sets.push_back("schedule=" + options_.schedule);
    return sets;
  }
  Wanted wanted(std::string curve, RatioSize const& size, double length_factor = 1) const {
    Wanted w{std::move(curve), size, length_factor, {}, sets_of(size, length_factor)};
    if (report_.schedule == ScheduleKind::async) w.max_staleness = async_.max_staleness;
    return w;
  }

  // The first problem of a scenario that is not good.
  std::optional<std::string> refused(Sets const& sets) const {
    ScenarioResult const read = read_with(source_, sets);
    if (read.scenario) return std::nullopt;
    return sentence(read.problems.front());
  }
  void leave_out(Wanted const& w, std::string reason) {
    report_.infeasible.push_back({w.curve, w.size, w.length_factor, std::move(reason)});
  }
  std::vector<Wanted> possible(std::vector<Wanted> const& all) {
    std::vector<Wanted> out;
    for (Wanted const& w : all) {
      if (auto reason = refused(w.sets))
        leave_out(w, std::move(*reason));
      else
        out.push_back(w);
    }
    return out;
  }

  void ask(std::vector<Wanted> const& points) {
    std::vector<Sets> sets;
    for (Wanted const& w : points) sets.push_back(w.sets);
    forecasts_.run(sets);
  }
  std::optional<RatioPoint> point_of(Wanted const& w) {
    std::vector<Headline> const& headlines = forecasts_.of(w.sets);
    for (Headline const& h : headlines) {
      if (is_complete(h)) continue;
      leave_out(w, why_not(h));
      return std::nullopt;
    }
    RatioPoint p = ratio_point(w.size, report_.pools, headlines);
    p.max_staleness = w.max_staleness;
    p.length_factor = w.length_factor;
    return p;
  }
  std::vector<RatioPoint> points_of(std::vector<Wanted> const& all, std::string const& curve,
                                    double length_factor = 1) {
    std::vector<RatioPoint> out;
    for (Wanted const& w : all) {
      if (w.curve != curve || std::abs(w.length_factor - length_factor) > 1e-12) continue;
      if (auto p = point_of(w)) out.push_back(std::move(*p));
    }
    return out;
  }

  std::optional<RatioSize> file_split() const {
    RatioSize const size{place_.rollout.gpus, place_.train.gpus};
    return !place_.made && size.total() == report_.total ? std::optional(size) : std::nullopt;
  }

  // Lengths do not change which splits there can be.
  void split() {
    std::vector<Wanted> all;
    for (RatioSize const& s : all_splits(place_, report_.total)) all.push_back(wanted("split", s));
    std::vector<RatioSize> sizes;
    for (Wanted const& w : possible(all)) sizes.push_back(w.size);
    sizes = spread(sizes, kMostSplits, file_split());
    std::vector<Wanted> points;
    for (double const factor : options_.lengths) {
      for (RatioSize const& s : sizes) points.push_back(wanted("split", s, factor));
    }
    ask(points);
    for (double const factor : options_.lengths)
      report_.lengths.push_back({factor, points_of(points, "split", factor), {}});
    for (RatioLengths const& l : report_.lengths) {
      if (is_one(l.factor)) report_.split = l.split;
    }
  }

  void colocate() {
    report_.colocated.reason = place_.no_colocation;
    if (!report_.colocated.reason.empty()) return;
    double share = job_.rollout.gpu_memory_utilization;
    bool changed = false;
    do {
      Wanted w{"colocated", {report_.total, report_.total}, 1, {}, colocated_sets(place_, report_.total)};
      if (changed) w.sets.push_back(fmt::format("rollout.gpu_memory_utilization={:.2f}", share));
      if (auto reason = refused(w.sets)) {
        report_.colocated.reason = std::move(*reason);
        return;
      }
      ask({w});
      if (try_colocated(w)) return;
      share -= kLessMemory;
      changed = true;
    } while (!place_.made && share >= kLeastShare - 1e-9);
  }
  bool try_colocated(Wanted const& w) {
    std::vector<Headline> const& headlines = forecasts_.of(w.sets);
    for (Headline const& h : headlines) {
      if (is_complete(h)) continue;
      report_.colocated.reason = why_not(h);
      return false;
    }
    std::string const pool = headlines.front().pools.at(0).name;
    report_.colocated = {ratio_point(w.size, {pool, pool}, headlines), w.sets, ""};
    return true;
  }

  void choose_base() {
    auto const of_file = file_split();
    for (RatioPoint const& p : report_.split) {
      if (of_file && p.size == *of_file) report_.base = p;
    }
    if (report_.base) return;
    report_.base_from = RatioBase::fastest;
    if (auto const i = fastest(report_.split)) report_.base = report_.split[*i];
  }

  // Sizes that the program chose and the language cannot tell are left out, those of the user's reported.
  void add_sizes(std::vector<Wanted>& all, std::string const& curve, std::vector<RatioSize> sizes) const {
    auto const by_size = [](RatioSize const& a, RatioSize const& b) {
      return std::pair(a.rollout_gpus, a.train_gpus) < std::pair(b.rollout_gpus, b.train_gpus);
    };
    std::sort(sizes.begin(), sizes.end(), by_size);
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
    for (RatioSize const& s : sizes) all.push_back(wanted(curve, s));
  }
  bool adds_up(RatioSize const& s) const {
    return !place_.pools_add_up || (s.total() + place_.other_gpus) % place_.cluster_node_gpus == 0;
  }

  std::vector<RatioSize> growing(std::vector<double> const& rollout, std::vector<double> const& train) const {
    RatioSize const& base = report_.base->size;
    std::vector<RatioSize> out;
    for (std::size_t i = 0; i < rollout.size(); ++i) {
      RatioSize const s{scaled_size(place_.rollout, base.rollout_gpus, rollout[i]),
                        scaled_size(place_.train, base.train_gpus, train[i])};
      if (adds_up(s)) out.push_back(s);
    }
    return out;
  }

  void around_base() {
    std::vector<Wanted> all;
    RatioSize const base = report_.base->size;
    if (options_.rollout_gpus.empty()) {
      std::vector<double> const growth(std::begin(kGrowth), std::end(kGrowth));
      add_sizes(all, "rollout", growing(growth, std::vector<double>(growth.size(), 1)));
    } else {
      std::vector<RatioSize> sizes{base};
      for (int const r : options_.rollout_gpus) sizes.push_back({r, base.train_gpus});
      add_sizes(all, "rollout", sizes);
    }
    std::vector<double> const trainers(std::begin(kTrainerGrowth), std::end(kTrainerGrowth));
    add_sizes(all, "train", growing(std::vector<double>(trainers.size(), 1), trainers));
    std::vector<double> const totals(std::begin(kTotals), std::end(kTotals));
    add_sizes(all, "total", growing(totals, totals));
    std::vector<Wanted> const sizes = all;
    for (Wanted const& w : sizes) {
      for (double const factor : options_.lengths) {
        if (w.curve == "rollout" && !is_one(factor)) all.push_back(wanted(w.curve, w.size, factor));
      }
    }
    add_bounds(all);
    std::vector<Wanted> const points = possible(all);
    ask(points);
    report_.rollout = points_of(points, "rollout");
    for (RatioLengths& l : report_.lengths)
      l.rollout = is_one(l.factor) ? report_.rollout : points_of(points, "rollout", l.factor);
    report_.train = points_of(points, "train");
    report_.totals = points_of(points, "total");
    report_.staleness = points_of(points, "staleness");
    collect_what_ifs(points);
  }

  void add_bounds(std::vector<Wanted>& all) const {
    if (report_.schedule != ScheduleKind::async) return;
    std::vector<double> bounds = options_.staleness;
    if (bounds.empty() && async_.queue == QueueRule::verl)
      bounds.assign(std::begin(kShares), std::end(kShares));
    if (bounds.empty() && async_.queue != QueueRule::slime)
      bounds.assign(std::begin(kStaleness), std::end(kStaleness));
    bounds.push_back(async_.max_staleness);
    std::sort(bounds.begin(), bounds.end());
    bounds.erase(std::unique(bounds.begin(), bounds.end()), bounds.end());
    for (double const b : bounds) {
      Wanted w = wanted("staleness", report_.base->size);
      if (b < async_.max_staleness || b > async_.max_staleness)
        w.sets.push_back(fmt::format("schedule.async.max_staleness={}", b));
      w.max_staleness = b;
      all.push_back(std::move(w));
    }
    Wanted w = wanted("under_way", report_.base->size);
    w.sets.push_back(fmt::format("schedule.async.max_concurrent={}", all_under_way()));
    all.push_back(std::move(w));
  }
  // As many as the staleness bound allows: a version's samples for each version that one may be old, and one.
  int all_under_way() const {
    return job_.algorithm.samples() * (1 + static_cast<int>(std::ceil(async_.max_staleness)));
  }

  void add_what_if(RatioKnob knob, double from, std::vector<RatioPoint> const& curve,
                   double (*value)(RatioPoint const&)) {
    for (RatioPoint const& p : curve) {
      if (!(value(p) > from)) continue;
      bool const twice = value(p) >= 2 * from;
      if (!twice && &p != &curve.back() && knob != RatioKnob::max_staleness) continue;
      report_.what_ifs.push_back({knob, from, value(p), p});
      return;
    }
  }
  void collect_what_ifs(std::vector<Wanted> const& points) {
    RatioPoint const& base = *report_.base;
    add_what_if(RatioKnob::rollout_gpus, base.size.rollout_gpus, report_.rollout,
                [](RatioPoint const& p) -> double { return p.size.rollout_gpus; });
    add_what_if(RatioKnob::train_gpus, base.size.train_gpus, report_.train,
                [](RatioPoint const& p) -> double { return p.size.train_gpus; });
    for (RatioPoint const& p : points_of(points, "under_way"))
      report_.what_ifs.push_back({RatioKnob::max_concurrent, static_cast<double>(async_.max_concurrent),
                                  static_cast<double>(all_under_way()), p});
    if (base.max_staleness)
      add_what_if(RatioKnob::max_staleness, *base.max_staleness, report_.staleness,
                  [](RatioPoint const& p) { return *p.max_staleness; });
  }

  // The same beside more rollout GPUs, in whole units.
  RatioSize with_more(RatioPoint const& p, double factor) const {
    return {scaled_size(place_.rollout, p.size.rollout_gpus, factor), p.size.train_gpus};
  }
  void mark_bottlenecks() {
    std::vector<RatioPoint*> points;
    for (std::vector<RatioPoint>* curve : {&report_.split, &report_.rollout}) {
      for (RatioPoint& p : *curve) points.push_back(&p);
    }
    if (report_.base) points.push_back(&*report_.base);
    for (double const factor : kMore) {
      std::vector<Sets> sets;
      for (RatioPoint const* p : points) {
        Sets const more = sets_of(with_more(*p, factor), 1);
        if (!p->bottleneck && !refused(more)) sets.push_back(more);
      }
      forecasts_.run(sets);
      for (RatioPoint* p : points) {
        if (!p->bottleneck) compare_with_more(*p, with_more(*p, factor));
      }
    }
    for (RatioPoint* p : points) {
      if (!p->bottleneck) p->bottleneck = bottleneck(*p, nullptr, report_.schedule);
    }
  }
  void compare_with_more(RatioPoint& p, RatioSize const& size) const {
    std::vector<Headline> const* const headlines = forecasts_.find(sets_of(size, 1));
    if (headlines == nullptr || size == p.size || !all_completed(*headlines)) return;
    RatioPoint const more = ratio_point(size, report_.pools, *headlines);
    p.bottleneck = bottleneck(p, &more, report_.schedule);
  }

  ScenarioSource const& source_;
  Job const& job_;
  RatioPlace const& place_;
  RatioOptions const& options_;
  SeededForecasts forecasts_;
  AsyncOptions async_;
  RatioReport report_;
};

}  // namespace

RatioReport ratio_report(ForkPool& pool, ScenarioSource const& source, Scenario const& scenario,
                         RatioPlace const& place, RatioOptions const& options,
                         std::function<void(std::size_t, std::size_t)> const& told) {
  return Sweep(pool, source, scenario, place, options, told).run();
}

}  // namespace rollcast
