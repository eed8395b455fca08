// The rollout phase of a step that waits for its samples: the engines run until all are there, or, with
// oversampling, enough of them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "models/group_signal.hpp"
#include "models/pools.hpp"
#include "sim/rollout_curve.hpp"
#include "sim/rollout_loop.hpp"
#include "sim/time_limits.hpp"

namespace rollcast {
namespace {

using Groups = std::vector<std::pair<std::int64_t, std::vector<StepSample>>>;

Groups grouped(std::vector<StepSample> const& samples) {
  Groups groups;
  for (StepSample const& s : samples) {
    if (groups.empty() || groups.back().first != s.prompt) groups.push_back({s.prompt, {}});
    groups.back().second.push_back(s);
  }
  return groups;
}

// What an engine did from `start` on, as spans of its ranks; what it waits for until `end` is the tail.
void record_engine(PhaseRun const& p, RolloutLoop const& loop, int e, Seconds start, Seconds own_end,
                   Seconds end) {
  RolloutEngine const& engine = loop.fleet().engine(e);
  RolloutWork const work = work_between(*p.run.rollout, {}, engine.counters());
  auto const& classes = p.pool.placement.classes_of_engine[static_cast<std::size_t>(e)];
  for (int rank_class : classes) {
    p.recorder.span(rank_class, Stream::compute, Activity::compute, "generate", start, own_end, work.flops,
                    work.hbm);
    p.recorder.span(rank_class, Stream::compute, Activity::rollout_tail, "other engines still generate",
                    own_end, end);
  }
  Seconds const never = seconds(std::numeric_limits<double>::infinity());
  record_curve(p.recorder, classes.front(), engine.curve(), Seconds(0), never);
}

// Ends the run: no round brought enough groups with a signal.
void stop_without_signal(PhaseRun& p, int kept) {
  p.run.log.outcome = Outcome::failed;
  p.run.log.outcome_reason =
      fmt::format("dynamic sampling found {} of {} groups with a signal in {} rounds", kept,
                  p.run.job.algorithm.prompts, p.run.job.algorithm.dynamic_sampling->most_rounds);
  p.run.stopped = true;
}

// The groups that the step trains on, as they finish.
class Collected {
 public:
  Collected(PhaseRun& p, RolloutLoop& loop) : p_(p), loop_(loop) {}

  int kept() const { return static_cast<int>(groups_.size()); }
  Seconds last() const { return last_; }
  std::vector<Seconds> const& engine_ends() const { return engine_ends_; }

  // Runs until `enough` groups are kept or nothing is left.
  void run(int enough, bool drop_without_signal) {
    engine_ends_.resize(static_cast<std::size_t>(p_.run.rollout->engines()));
    while (kept() < enough) {
      auto const group = loop_.next_group(Seconds(std::numeric_limits<double>::infinity()));
      if (!group) return;
      std::vector<SampleLife> samples = loop_.take(group->number);
      last_ = max(last_, group->time);
      for (SampleLife const& s : samples) {
        Seconds& end = engine_ends_[static_cast<std::size_t>(s.engine)];
        end = max(end, s.finished);
      }
      if (drop_without_signal && !has_signal(p_.run.job, p_.run.options.seed, p_.batch.step, group->number))
        continue;
      groups_.push_back(std::move(samples));
    }
  }

  // The step's groups in order of prompt, ids anew. What a round brought beyond them is dropped, as by verl
  // (recipe/dapo/dapo_ray_trainer.py aligns the batch).
  void hand_over(Batch& batch) {
    std::sort(groups_.begin(), groups_.end(),
              [](auto const& a, auto const& b) { return a.front().sample.id < b.front().sample.id; });
    groups_.resize(std::min(groups_.size(), static_cast<std::size_t>(p_.run.job.algorithm.prompts)));
    batch.samples.clear();
    batch.engine_of.clear();
    batch.finished.clear();
    for (auto const& group : groups_) {
      for (SampleLife const& s : group) {
        batch.samples.push_back(s.sample);
        batch.samples.back().id = static_cast<std::int64_t>(batch.samples.size()) - 1;
        batch.engine_of.push_back(s.engine);
        batch.finished.push_back(s.finished);
      }
    }
  }

 private:
  PhaseRun& p_;
  RolloutLoop& loop_;
  std::vector<std::vector<SampleLife>> groups_;
  std::vector<Seconds> engine_ends_;
  Seconds last_;
};

// Rounds of DAPO: each generates whole batches until enough groups carry a signal.
void run_rounds(PhaseRun& p, RolloutLoop& loop, Collected& collected) {
  Algorithm const& a = p.run.job.algorithm;
  DynamicSampling const& sampling = *a.dynamic_sampling;
  int const per_round = prompts_per_round(a.prompts, sampling.oversampling);
  for (int round = 0; round < sampling.most_rounds && collected.kept() < a.prompts; ++round) {
    auto const samples =
        samples_of_step(p.run.job, p.run.options.seed, p.batch.step, round * per_round, per_round);
    loop.start(grouped(samples), loop.now());
    p.batch.generated_samples += static_cast<std::int64_t>(samples.size());
    collected.run(std::numeric_limits<int>::max(), true);
  }
  if (collected.kept() < a.prompts) stop_without_signal(p, collected.kept());
}

// More prompts than needed are started; what the step before left goes on first.
void run_oversampled(PhaseRun& p, RolloutLoop& loop, Collected& collected) {
  EngineOptions const& e = p.run.job.rollout;
  int const needed = p.run.job.algorithm.prompts;
  int const started = static_cast<int>(std::ceil(needed * e.oversampling));
  Groups groups = std::exchange(p.run.carried, {});
  int const carried = static_cast<int>(groups.size());
  for (auto& g : grouped(
           samples_of_step(p.run.job, p.run.options.seed, p.batch.step, 0, std::max(1, started - carried)))) {
    groups.push_back(std::move(g));
  }
  // Prompts of two steps meet: number groups and samples anew.
  std::int64_t id = 0;
  std::int64_t started_before = 0;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    if (g < static_cast<std::size_t>(carried))
      started_before += static_cast<std::int64_t>(groups[g].second.size());
    groups[g].first = static_cast<std::int64_t>(g);
    for (StepSample& s : groups[g].second) {
      s.id = id++;
      s.prompt = static_cast<int>(g);
    }
  }
  p.batch.generated_samples += id - started_before;
  loop.start(groups, loop.now());
  collected.run(needed, false);
  for (SampleLife const& s : loop.abandon()) {
    if (!e.partial_rollout) continue;
    if (p.run.carried.empty() || p.run.carried.back().first != s.group)
      p.run.carried.push_back({s.group, {}});
    p.run.carried.back().second.push_back(s.sample);
  }
}

}  // namespace

void generate(PhaseRun& p) {
  RolloutPool const& rollout = *p.run.rollout;
  Seconds const start = p.run.engine.now();
  RolloutLoop loop(rollout, p.run.job, p.run.options.seed, start);
  Collected collected(p, loop);
  if (!p.validates && p.run.job.algorithm.dynamic_sampling) {
    run_rounds(p, loop, collected);
  } else if (!p.validates && rollout.job.rollout.oversampling > 1) {
    run_oversampled(p, loop, collected);
  } else {
    p.batch.generated_samples += static_cast<std::int64_t>(p.batch.samples.size());
    loop.start(grouped(p.batch.samples), start);
    collected.run(std::numeric_limits<int>::max(), false);
  }
  Seconds const end = max(start, collected.last());
  std::vector<Seconds> of_class(static_cast<std::size_t>(p.pool.classes()), end);
  for (int e = 0; e < rollout.engines(); ++e) {
    Seconds const own_end = max(start, collected.engine_ends()[static_cast<std::size_t>(e)]);
    record_engine(p, loop, e, start, min(own_end, end), end);
    for (int c : p.pool.placement.classes_of_engine[static_cast<std::size_t>(e)])
      of_class[static_cast<std::size_t>(c - p.pool.first_class())] = min(own_end, end);
    p.batch.preemptions += loop.fleet().engine(e).counters().preemptions;
  }
  collected.hand_over(p.batch);
  if (colocated(p.run.job)) watch_ends(p, of_class, end);
  p.run.engine.delay(end - start);
  p.batch.generated = end;
}

}  // namespace rollcast
