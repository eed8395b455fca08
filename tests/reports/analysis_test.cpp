#include "reports/analysis.hpp"

#include <gtest/gtest.h>

#include "tests/reports/small_log.hpp"

namespace rollcast {
namespace {

double idle(PoolUse const& p, std::string const& cause) {
  for (auto const& [name, fraction] : p.idle_by_cause) {
    if (name == cause) return fraction;
  }
  ADD_FAILURE() << "no cause " << cause;
  return -1;
}

TEST(Analysis, StepTimesAreInterpolatedQuantiles) {
  // Two steps, 100 s and 120 s: quantile q lies at 100 + q x 20.
  StepTimes const t = analyse(small_log()).step;
  EXPECT_EQ(t.steps, 2);
  EXPECT_DOUBLE_EQ(t.mean.value, 110);
  EXPECT_DOUBLE_EQ(t.p10.value, 102);
  EXPECT_DOUBLE_EQ(t.p50.value, 110);
  EXPECT_DOUBLE_EQ(t.p90.value, 118);
}

TEST(Analysis, ThroughputCountsPromptAndResponseOverAllGpus) {
  Analysis const a = analyse(small_log());
  // 2 x (800 + 8000) tokens / (220 s x 4 GPUs); 2 x 8 samples / 220 s; 4 GPUs x 110 s / 3600.
  EXPECT_DOUBLE_EQ(a.tokens_per_second_per_gpu, 20);
  EXPECT_DOUBLE_EQ(a.samples_per_second, 16.0 / 220);
  EXPECT_DOUBLE_EQ(a.gpu_hours_per_step, 440.0 / 3600);
  EXPECT_EQ(a.preemptions, 2);
}

TEST(Analysis, PhasesAreMeansPerStepInOrder) {
  Analysis const a = analyse(small_log());
  ASSERT_EQ(a.phases.size(), 3U);
  EXPECT_EQ(a.phases[0].phase, Phase::generate);
  EXPECT_DOUBLE_EQ(a.phases[0].mean.value, 70);  // (60 + 80) / 2
  EXPECT_DOUBLE_EQ(a.phases[0].exposed.value, 70);
  // Ranks 2-3 wait 20 s and 40 s: half of the ranks, so (20 + 40) / 2 / 2.
  EXPECT_DOUBLE_EQ(a.phases[0].by_activity[index_of(Activity::rollout_tail)].value, 15);
  EXPECT_EQ(a.phases[1].phase, Phase::update_actor);
  EXPECT_DOUBLE_EQ(a.phases[1].mean.value, 30);
  EXPECT_EQ(a.phases[2].phase, Phase::weight_sync);
  EXPECT_DOUBLE_EQ(a.phases[2].mean.value, 10);
}

TEST(Analysis, UtilizationAddsUpByCause) {
  // Rank time 4 x 220 = 880 s. Work of ranks 0-1: 95 + 115 s each (the all-reduce behind compute counts
  // once), of ranks 2-3: 78 + 78 s each: 2 x 210 + 2 x 156 = 732. Tail 2 x 60, wait 2 x 10, nothing 2 x 4.
  PoolUse const p = analyse(small_log()).pools.at(0);
  EXPECT_DOUBLE_EQ(p.busy_fraction, 732.0 / 880);
  EXPECT_DOUBLE_EQ(idle(p, "rollout_tail"), 120.0 / 880);
  EXPECT_DOUBLE_EQ(idle(p, "collective_wait"), 20.0 / 880);
  EXPECT_DOUBLE_EQ(idle(p, "phase_wait"), 0);
  EXPECT_NEAR(idle(p, "unaccounted"), 8.0 / 880, 1e-12);
  double sum = p.busy_fraction;
  for (auto const& [name, fraction] : p.idle_by_cause) sum += fraction;
  EXPECT_NEAR(sum, 1, 1e-12);
}

TEST(Analysis, MfuAndMbuAreOfThePeak) {
  // FLOPs of a rank: ranks 0-1 (60 + 80) x 5e13 + 2e16 = 2.7e16, ranks 2-3 4e15 + 3e16 = 3.4e16; two each:
  // 1.22e17 of 1e15 x 220 s x 4. HBM: 2 x (140e12 + 80e12) of 2e12 x 140 s x 4.
  PoolUse const p = analyse(small_log()).pools.at(0);
  EXPECT_NEAR(p.mfu, 1.22e17 / 8.8e17, 1e-12);
  EXPECT_NEAR(p.mbu, 4.4e14 / 1.12e15, 1e-12);
}

TEST(Analysis, MemoryPeaksInThePhaseThatHoldsMost) {
  // generate 20 + 40, update_actor 20 + 25 + 30, weight_sync 20 GiB.
  Analysis const a = analyse(small_log());
  ASSERT_EQ(a.ledgers.size(), 1U);
  LedgerPeak const& l = a.ledgers[0];
  EXPECT_EQ(l.phase, Phase::update_actor);
  EXPECT_DOUBLE_EQ(l.bytes.value, GiB(75).value);
  EXPECT_DOUBLE_EQ(l.host_bytes.value, GiB(30).value);
  EXPECT_EQ(l.ranks, 4);
  ASSERT_EQ(l.shares.size(), 3U);
  EXPECT_EQ(l.shares[0].category, MemoryCategory::optimizer_states);
  EXPECT_DOUBLE_EQ(l.shares[0].bytes.value, GiB(30).value);
  EXPECT_EQ(a.pools.at(0).peak, std::optional<std::size_t>(0));
}

TEST(Analysis, CriticalPathFollowsTheLastWorker) {
  // generate: ranks 0-1 compute 60 and 80 s; update: ranks 2-3 compute 30 s; sync: ranks 0-1 copy 10 s.
  auto const path = analyse(small_log()).critical_path;
  ASSERT_EQ(path.size(), 3U);
  EXPECT_EQ(path[0].phase, "generate");
  EXPECT_EQ(path[0].cause, "compute");
  EXPECT_DOUBLE_EQ(path[0].seconds.value, 70);
  EXPECT_EQ(path[1].phase, "update_actor");
  EXPECT_DOUBLE_EQ(path[1].seconds.value, 30);
  EXPECT_EQ(path[2].cause, "copy");
  EXPECT_DOUBLE_EQ(path[2].seconds.value, 10);
}

TEST(Analysis, CriticalPathFillsGapsAndCountsOverlapOnce) {
  // One step 0-100 s. Window a 10-50 (nothing worked), window b 40-90 of another pool (compute 40-90):
  // 10 s before, 40 s of a, 40 s of b beyond a, 10 s after.
  EventLog log;
  log.pools = {{"a", "n", "g", 1, {}, {}, {}, {}}, {"b", "n", "g", 1, {}, {}, {}, {}}};
  log.rank_classes = {{"rank 0", 0, 0, {0}}, {"rank 1", 1, 0, {1}}};
  log.labels = {"x"};
  log.steps = {{seconds(0), seconds(100), 1, 1, 1, 0}};
  log.phases = {{1, 0, Phase::update_actor, seconds(40), seconds(90)},
                {0, 0, Phase::generate, seconds(10), seconds(50)}};
  log.spans = {{1, 0, Stream::compute, Phase::update_actor, Activity::compute, 0, seconds(40), seconds(90),
                Flops(0), Bytes(0)}};
  Analysis const a = analyse(log);
  ASSERT_EQ(a.critical_path.size(), 3U);
  EXPECT_EQ(a.critical_path[0].phase, "between_phases");
  EXPECT_DOUBLE_EQ(a.critical_path[0].seconds.value, 20);
  EXPECT_EQ(a.critical_path[1].phase, "generate");
  EXPECT_EQ(a.critical_path[1].cause, "unaccounted");
  EXPECT_DOUBLE_EQ(a.critical_path[1].seconds.value, 40);
  EXPECT_EQ(a.critical_path[2].phase, "update_actor");
  EXPECT_DOUBLE_EQ(a.critical_path[2].seconds.value, 40);
  // The windows overlap in 40-50: 30 s of generate and 40 s of update_actor are exposed.
  EXPECT_DOUBLE_EQ(a.phases.at(0).exposed.value, 30);
  EXPECT_DOUBLE_EQ(a.phases.at(1).exposed.value, 40);
}

TEST(Analysis, LeversAreMeansOverRanksLargestFirst) {
  // Per step: tail 15 s (above), weight_sync 10 s, wait (5 + 5) / 2 / 2 = 2.5 s, exposed all-reduce the same.
  auto const levers = analyse(small_log()).levers;
  ASSERT_EQ(levers.size(), 4U);
  EXPECT_EQ(levers[0].kind, LeverKind::rollout_tail);
  EXPECT_DOUBLE_EQ(levers[0].at_most.value, 15);
  EXPECT_EQ(levers[1].kind, LeverKind::switching);
  EXPECT_DOUBLE_EQ(levers[1].at_most.value, 10);
  EXPECT_EQ(levers[2].kind, LeverKind::collective_wait);
  EXPECT_DOUBLE_EQ(levers[2].at_most.value, 2.5);
  EXPECT_EQ(levers[3].kind, LeverKind::communication);
  EXPECT_DOUBLE_EQ(levers[3].at_most.value, 2.5);
}

TEST(Analysis, MeasuredValuesFindTheirForecast) {
  EventLog log = small_log();
  log.phases.push_back({0, 0, Phase::reference, seconds(90), seconds(94)});
  log.phases.push_back({0, 1, Phase::old_logprob, seconds(210), seconds(212)});
  log.measured.insert(log.measured.end(), {{"logprob_seconds", 1}, {"peak_gpu_memory_gib", 1}, {"mbu", 1}});
  auto const m = analyse(log).measured;
  ASSERT_EQ(m.size(), 6U);
  EXPECT_DOUBLE_EQ(m[0].forecast.value_or(0), 110);
  EXPECT_DOUBLE_EQ(m[1].forecast.value_or(0), 70);
  EXPECT_FALSE(m[2].forecast.has_value());                 // a host's memory
  EXPECT_DOUBLE_EQ(m[3].forecast.value_or(0), 3);          // (4 + 2) / 2 steps
  EXPECT_DOUBLE_EQ(m[4].forecast.value_or(0), 75);         // GiB in update_actor
  EXPECT_NEAR(m[5].forecast.value_or(0), 0.392857, 1e-6);  // 4.4e14 / 1.12e15
}

// score and old_logprob 6 s in step 0, wake 2 s in step 1: experience (60 + 80 + 6) / 2, switch and refit
// (10 + 10 + 2) / 2.
TEST(Analysis, MeasuredSumsOfPhases) {
  EventLog log = small_log();
  log.phases.push_back({0, 0, Phase::score, seconds(90), seconds(94)});
  log.phases.push_back({0, 0, Phase::old_logprob, seconds(94), seconds(96)});
  log.phases.push_back({0, 1, Phase::wake, seconds(210), seconds(212)});
  log.measured = {{"experience_seconds", 1},    {"update_seconds", 1}, {"switch_seconds", 1},
                  {"generate_wait_seconds", 1}, {"refit_seconds", 1},  {"generate_and_update_seconds", 1}};
  auto const m = analyse(log).measured;
  EXPECT_DOUBLE_EQ(m[0].forecast.value_or(0), 73);
  EXPECT_DOUBLE_EQ(m[1].forecast.value_or(0), 30);
  EXPECT_DOUBLE_EQ(m[2].forecast.value_or(0), 11);
  EXPECT_FALSE(m[3].forecast.has_value());  // one pool: nothing waits for it
  EXPECT_DOUBLE_EQ(m[4].forecast.value_or(0), 11);
  EXPECT_DOUBLE_EQ(m[5].forecast.value_or(0), 100);  // (60 + 80) / 2 + 30
}

// Two steps of 100 s. The trainer of two ranks waits 0-30 in the first and 100-110 in the second; within its
// update one of its ranks waits for the other, 90-100, which is no wait for samples: (30 + 10) / 2.
TEST(Analysis, TheTrainersWaitForSamplesIsOutsideItsPhases) {
  EventLog log;
  log.pools = {{"rollout", "n", "g", 1, {}, {}, {}, {}}, {"train", "n", "g", 2, {}, {}, {}, {}}};
  log.rank_classes = {{"rank 0", 0, 0, {0}}, {"rank 1", 1, 0, {1}}, {"rank 2", 1, 0, {2}}};
  log.labels = {"x"};
  log.steps.resize(2);
  for (int step : {0, 1}) {
    double const start = 100.0 * step;
    double const train = start + (step == 0 ? 30 : 10);
    auto const at = static_cast<std::size_t>(step);
    log.steps[at].start = seconds(start);
    log.steps[at].end = seconds(start + 100);
    log.phases.push_back({0, step, Phase::generate, seconds(start), seconds(start + 100)});
    log.phases.push_back({1, step, Phase::update_actor, seconds(train), seconds(start + 100)});
    for (int c : {1, 2}) {
      log.spans.push_back({c, step, Stream::compute, Phase::update_actor, Activity::phase_wait, 0,
                           seconds(start), seconds(train), Flops(0), Bytes(0)});
    }
  }
  log.spans.push_back({1, 0, Stream::compute, Phase::update_actor, Activity::phase_wait, 0, seconds(90),
                       seconds(100), Flops(0), Bytes(0)});
  log.measured = {{"generate_wait_seconds", 1}};
  EXPECT_NEAR(analyse(log).measured[0].forecast.value_or(0), 20, 1e-9);
}

TEST(Analysis, RunWithoutACompletedStepHasPhasesButNoRates) {
  // The run ends in the first update_actor: only its first two windows remain.
  EventLog log = small_log();
  log.outcome = Outcome::oom;
  log.steps.clear();
  std::erase_if(log.phases, [](PhaseWindow const& w) { return w.step > 0 || w.phase == Phase::weight_sync; });
  std::erase_if(log.spans, [](Span const& s) { return s.step > 0 || s.phase == Phase::weight_sync; });
  Analysis const a = analyse(log);
  EXPECT_EQ(a.step.steps, 0);
  ASSERT_EQ(a.phases.size(), 2U);
  EXPECT_DOUBLE_EQ(a.phases[0].mean.value, 60);
  EXPECT_DOUBLE_EQ(a.tokens_per_second_per_gpu, 0);
  EXPECT_TRUE(a.critical_path.empty());
  EXPECT_TRUE(a.levers.empty());
  // 0-90 s, 4 ranks: (85 x 2 + 70 x 2) / 360.
  EXPECT_DOUBLE_EQ(a.pools.at(0).busy_fraction, 310.0 / 360);
}

TEST(Analysis, EmptyLogHasNoFigures) {
  Analysis const a = analyse(EventLog{});
  EXPECT_EQ(a.gpus, 0);
  EXPECT_TRUE(a.phases.empty());
  EXPECT_TRUE(a.pools.empty());
}

}  // namespace
}  // namespace rollcast
