// What must hold for every schedule, whatever the job: runs complete, no sample is lost or trained on twice,
// time runs forward and is not counted twice, and a run can be repeated.
#include "sim/schedules.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <string_view>

#include "scenarios/scenario.hpp"
#include "sim/simulate.hpp"
#include "tests/sim/child_process.hpp"
#include "tests/sim/random_jobs.hpp"

namespace rollcast {
namespace {

constexpr int kSteps = 4;
constexpr double kRounding = 1e-7;

// FNV-1a over the values of a log; in two halves that a double holds exactly.
class Digest {
 public:
  void add(void const* data, std::size_t size) {
    auto const* at = static_cast<unsigned char const*>(data);
    for (std::size_t i = 0; i < size; ++i) hash_ = (hash_ ^ at[i]) * 1099511628211u;
  }
  template <class... Values>
  void all(Values const&... values) {
    (add(&values, sizeof values), ...);
  }
  std::vector<double> halves() const {
    return {static_cast<double>(hash_ >> 32u), static_cast<double>(hash_ & 0xffffffffu)};
  }

 private:
  std::uint64_t hash_ = 14695981039346656037u;
};

std::vector<double> digest(EventLog const& log) {
  Digest d;
  for (StepRecord const& s : log.steps) {
    d.all(s.start, s.end, s.samples, s.prompt_tokens, s.response_tokens, s.preemptions, s.generated_samples,
          s.computed_tokens, s.useful_tokens);
    d.add(s.staleness.data(), s.staleness.size() * sizeof(std::int64_t));
  }
  for (PhaseWindow const& w : log.phases) d.all(w.pool, w.step, w.phase, w.start, w.end);
  for (Span const& s : log.spans)
    d.all(s.rank_class, s.step, s.stream, s.phase, s.activity, s.label, s.start, s.end, s.flops, s.hbm);
  for (Counter const& c : log.counters) d.all(c.rank_class, c.kind, c.role, c.category, c.time, c.value);
  for (Handover const& h : log.handovers)
    d.all(h.step, h.from_rank_class, h.to_rank_class, h.sent, h.received, h.samples);
  for (std::string const& label : log.labels) d.add(label.data(), label.size());
  return d.halves();
}

std::int64_t samples_per_step(Algorithm const& a) {
  if (generates(a.kind)) return a.samples();
  return a.train_batch * (a.kind == AlgorithmKind::dpo ? 2 : 1);
}

void expect_all_samples(Job const& job, EventLog const& log) {
  std::int64_t const samples = samples_per_step(job.algorithm);
  std::vector<std::int64_t> handed(log.steps.size(), 0);
  for (Handover const& h : log.handovers) {
    EXPECT_LE(h.sent, h.received);
    if (h.step >= 0) handed.at(static_cast<std::size_t>(h.step)) += h.samples;
  }
  for (std::size_t i = 0; i < log.steps.size(); ++i) {
    StepRecord const& s = log.steps[i];
    EXPECT_EQ(s.samples, samples);
    if (!generates(job.algorithm.kind)) continue;
    EXPECT_EQ(handed[i], samples);
    EXPECT_EQ(std::accumulate(s.staleness.begin(), s.staleness.end(), std::int64_t{0}), samples);
    if (job.algorithm.dynamic_sampling || job.rollout.oversampling > 1) {
      EXPECT_GE(s.generated_samples, samples);
    } else {
      EXPECT_EQ(s.generated_samples, samples);
    }
  }
}

void expect_staleness(Job const& job, EventLog const& log) {
  for (StepRecord const& s : log.steps) {
    if (job.schedule.kind == ScheduleKind::one_step_off) {
      EXPECT_EQ(s.staleness, (std::vector<std::int64_t>{0, s.samples}));
    }
    // A group waits at most for the bound (models/admission.hpp); verl and AReaL let groups overtake.
    bool const bounded =
        job.schedule.async.queue == QueueRule::slime || job.schedule.async.queue == QueueRule::nemo_rl;
    if (job.schedule.kind != ScheduleKind::async || !bounded) continue;
    double const most = job.schedule.async.queue == QueueRule::slime ? 1 : job.schedule.async.max_staleness;
    EXPECT_LE(static_cast<double>(s.staleness.size()) - 1, most);
  }
}

void expect_time_runs_forward(EventLog const& log) {
  Seconds last;
  for (StepRecord const& s : log.steps) {
    EXPECT_LE(s.start, s.end);
    EXPECT_LT(last, s.end);
    EXPECT_GE(s.start.value, last.value - kRounding);
    last = s.end;
  }
  for (PhaseWindow const& w : log.phases) {
    EXPECT_GE(w.start.value, 0);
    EXPECT_LE(w.start, w.end);
    EXPECT_LE(w.end.value, last.value + kRounding) << name_of(w.phase) << " of step " << w.step;
  }
}

void expect_no_overlap(EventLog const& log) {
  std::vector<std::vector<Span const*>> of_class(log.rank_classes.size());
  for (Span const& span : log.spans) of_class.at(static_cast<std::size_t>(span.rank_class)).push_back(&span);
  for (auto& spans : of_class) {
    std::stable_sort(spans.begin(), spans.end(),
                     [](Span const* a, Span const* b) { return a->start < b->start; });
    for (std::size_t i = 1; i < spans.size(); ++i) {
      Span const& a = *spans[i - 1];
      Span const& b = *spans[i];
      // Gathering, sending and loading of a weight sync go on side by side.
      if (a.phase == Phase::weight_sync && b.phase == Phase::weight_sync && a.step == b.step) continue;
      EXPECT_LE(a.end.value, b.start.value + kRounding)
          << log.rank_classes[static_cast<std::size_t>(a.rank_class)].name << ": "
          << log.labels[static_cast<std::size_t>(a.label)] << " in " << name_of(a.phase) << " of step "
          << a.step << ", then " << log.labels[static_cast<std::size_t>(b.label)] << " in "
          << name_of(b.phase) << " of step " << b.step;
      if (a.end.value > b.start.value + kRounding) return;
    }
  }
}

EventLog run(Job const& job) {
  Scenario s;
  s.name = "random";
  s.job = job;
  return simulate(s, round_profile(), {.steps = kSteps, .seed = 5});
}

void expect_good_run(Job const& job) {
  for (Problem const& p : check(job)) ADD_FAILURE() << p.key << ": " << p.what;
  auto const first = in_child([&] {
    EventLog const log = run(job);
    EXPECT_EQ(log.outcome, Outcome::completed) << log.outcome_reason;
    EXPECT_EQ(log.steps.size(), static_cast<std::size_t>(kSteps));
    expect_all_samples(job, log);
    expect_staleness(job, log);
    expect_time_runs_forward(log);
    expect_no_overlap(log);
    return digest(log);
  });
  EXPECT_EQ(first, in_child([&] { return digest(run(job)); }));
}

void expect_good_runs(int runs, std::function<Job(Draw&)> const& job_of) {
  for (int i = 0; i < runs; ++i) {
    SCOPED_TRACE(testing::Message() << "draw " << i);
    Draw draw(static_cast<std::uint64_t>(i));
    expect_good_run(job_of(draw));
  }
}

TEST(Schedules, SynchronousOnOnePool) {
  expect_good_runs(30, [](Draw& d) { return synchronous_job(d, false); });
}

TEST(Schedules, SynchronousOnTwoPools) {
  expect_good_runs(30, [](Draw& d) { return synchronous_job(d, true); });
}

TEST(Schedules, OneStepOff) { expect_good_runs(30, one_step_off_job); }

TEST(Schedules, AsynchronousAsVerl) {
  expect_good_runs(20, [](Draw& d) { return asynchronous_job(d, QueueRule::verl); });
}

TEST(Schedules, AsynchronousAsAreal) {
  expect_good_runs(20, [](Draw& d) { return asynchronous_job(d, QueueRule::areal); });
}

TEST(Schedules, AsynchronousAsSlime) {
  expect_good_runs(20, [](Draw& d) { return asynchronous_job(d, QueueRule::slime); });
}

TEST(Schedules, AsynchronousAsNemoRl) {
  expect_good_runs(20, [](Draw& d) { return asynchronous_job(d, QueueRule::nemo_rl); });
}

TEST(Schedules, DataSets) {
  for (AlgorithmKind const kind : {AlgorithmKind::sft, AlgorithmKind::dpo})
    expect_good_runs(10, [&](Draw& d) { return data_set_job(d, kind); });
}

}  // namespace
}  // namespace rollcast
