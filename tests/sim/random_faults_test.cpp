// Whatever goes wrong in whatever job: the log is whole, the same again, and says why.
#include <gtest/gtest.h>

#include <functional>

#include "models/pools.hpp"
#include "models/roles.hpp"
#include "scenarios/scenario.hpp"
#include "tests/sim/child_process.hpp"
#include "tests/sim/faulty_jobs.hpp"
#include "tests/sim/random_jobs.hpp"

namespace rollcast {
namespace {

constexpr int kSteps = 3;

Fault draw_fault(Job const& job, Draw& draw) {
  Fault f;
  f.kind = draw.of({FaultKind::kill, FaultKind::raise, FaultKind::hang, FaultKind::slow, FaultKind::skip,
                    FaultKind::desync, FaultKind::server});
  f.pool = draw.of({0, static_cast<int>(pools_of(job).size()) - 1});
  f.ranks = {draw.of({0, 1, 2, 3, 5, 7})};
  if (f.kind == FaultKind::server) f.pool = job.role_pools.rollout;
  if (f.kind == FaultKind::slow) f.factor = draw.of({1.0, 1.5, 50.0});
  if (f.kind != FaultKind::skip && f.kind != FaultKind::desync && draw.coin()) {
    f.at = Seconds(draw.of({0.0, 0.5, 3.0, 10.0, 1e5}));
    return f;
  }
  std::vector<Phase> const phases = step_phases(job);
  f.phase = phases[static_cast<std::size_t>(draw.of({0, 1, 2, 3, 4, 5, 6, 7})) % phases.size()];
  if (f.kind == FaultKind::skip || f.kind == FaultKind::desync) f.phase = Phase::update_actor;
  f.step = draw.of({0, 1});
  f.after = Seconds(draw.of({0.0, 0.001, 0.2, 2.0}));
  return f;
}

EventLog run_once(Job const& job) {
  Scenario s;
  s.name = "random";
  s.job = job;
  return simulate(s, round_profile(), {.steps = kSteps, .seed = 3});
}

std::vector<double> digest(EventLog const& log) {
  std::vector<double> d = {static_cast<double>(log.outcome), static_cast<double>(log.spans.size())};
  for (Happening const& h : log.happenings) {
    d.push_back(h.time.value);
    d.push_back(h.until.value);
    d.push_back(static_cast<double>(std::hash<std::string>{}(h.what) >> 12));
  }
  for (Span const& s : log.spans) d.push_back(s.end.value);
  return d;
}

int expect_whole_runs(int runs, std::uint64_t first, std::function<Job(Draw&)> const& job_of) {
  int incidents = 0;
  for (int i = 0; i < runs; ++i) {
    SCOPED_TRACE(testing::Message() << "draw " << first + static_cast<std::uint64_t>(i));
    Draw draw(first + static_cast<std::uint64_t>(i));
    Job job = job_of(draw);
    job.framework.single_controller = draw.coin();
    job.launcher.kind = draw.of({LauncherKind::none, LauncherKind::ray, LauncherKind::torchrun});
    job.watchdog.timeout = Seconds(draw.of({600.0, 20.0}));
    job.faults = {draw_fault(job, draw)};
    if (!check(job).empty()) continue;
    auto const once = in_child([&] {
      EventLog const log = run_once(job);
      if (log.outcome == Outcome::completed) {
        EXPECT_TRUE(log.happenings.empty());
        EXPECT_EQ(log.steps.size(), static_cast<std::size_t>(kSteps));
      } else {
        EXPECT_FALSE(log.outcome_reason.empty());
        expect_whole_log(log);
        EXPECT_EQ(log.stalls.size(), log.outcome == Outcome::failed ? 0u : 1u);
      }
      return digest(log);
    });
    if (testing::Test::HasFailure()) {
      ADD_FAILURE() << name_of(job.faults[0].kind) << " of rank " << job.faults[0].ranks[0] << ", pool "
                    << job.faults[0].pool << ", phase " << name_of(job.faults[0].phase) << ", at "
                    << job.faults[0].at.value_or(Seconds(-1)).value << ", launcher "
                    << name_of(job.launcher.kind);
      return incidents;
    }
    EXPECT_EQ(once, in_child([&] { return digest(run_once(job)); }));
    if (!once.empty() && once[0] > 0) ++incidents;
  }
  return incidents;
}

TEST(RandomFaults, SynchronousOnOnePool) {
  EXPECT_GT(expect_whole_runs(60, 0, [](Draw& d) { return synchronous_job(d, false); }), 15);
}

TEST(RandomFaults, SynchronousOnTwoPools) {
  EXPECT_GT(expect_whole_runs(60, 1000, [](Draw& d) { return synchronous_job(d, true); }), 15);
}

TEST(RandomFaults, OneStepOff) { EXPECT_GT(expect_whole_runs(40, 2000, one_step_off_job), 10); }

TEST(RandomFaults, Asynchronous) {
  EXPECT_GT(expect_whole_runs(40, 3000, [](Draw& d) { return asynchronous_job(d, QueueRule::areal); }), 10);
}

TEST(RandomFaults, DataSets) {
  EXPECT_GT(expect_whole_runs(30, 4000, [](Draw& d) { return data_set_job(d, AlgorithmKind::sft); }), 8);
}

}  // namespace
}  // namespace rollcast
