#include "sim/checkpoint.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "models/checkpoint.hpp"
#include "sim/simulate.hpp"
#include "tests/models/price_fixtures.hpp"
#include "tests/sim/child_process.hpp"

namespace rollcast {
namespace {

constexpr int kSteps = 3;

// Fine-tuning on one node, a checkpoint after every step.
Scenario saving(CheckpointMode mode, double node_gb_per_s) {
  Scenario s;
  s.name = "saving";
  Job& job = s.job;
  job = llama_job(1);
  job.model = catalog_model("llama-3.2-1b");
  job.framework.order = {Phase::update_actor};
  job.algorithm = {.kind = AlgorithmKind::sft, .train_batch = 64, .dynamic_sampling = {}, .adapter = {}};
  job.workload.prompt_tokens = {FixedLength{128}, 0, 0};
  job.workload.response_tokens = {FixedLength{384}, 0, 0};
  job.train.distributed_optimizer = true;
  job.checkpoint.every = 1;
  job.checkpoint.mode = mode;
  job.checkpoint.bandwidth = GB_per_s(node_gb_per_s);
  return s;
}

// Of each step: start and end of the checkpoint's window, end of the write behind it (0: none), end of the
// step.
std::vector<double> times_of(Scenario const& s) {
  return in_child([&] {
    EventLog const log = simulate(s, round_profile(), {.steps = kSteps, .seed = 3});
    EXPECT_EQ(log.outcome, Outcome::completed) << log.outcome_reason;
    std::vector<double> out(4 * kSteps, 0);
    for (PhaseWindow const& w : log.phases) {
      if (w.phase != Phase::checkpoint) continue;
      auto const at = 4 * static_cast<std::size_t>(w.step);
      out[at] = w.start.value;
      out[at + 1] = w.end.value;
    }
    for (Span const& span : log.spans) {
      if (span.stream != Stream::storage) continue;
      double& end = out[4 * static_cast<std::size_t>(span.step) + 2];
      end = std::max(end, span.end.value);
    }
    for (std::size_t i = 0; i < log.steps.size(); ++i) out[4 * i + 3] = log.steps[i].end.value;
    return out;
  });
}

CheckpointTime time_of(Scenario const& s) {
  Profile const profile = round_profile();
  CollectivePrices prices(profile, s.job.cluster);
  return checkpoint_time(profile, prices, s.job);
}

TEST(SimCheckpoint, SynchronousOnesEndWhenAllIsWritten) {
  Scenario const s = saving(CheckpointMode::sync, 2);
  auto const t = times_of(s);
  for (std::size_t i = 0; i < kSteps; ++i) {
    EXPECT_NEAR(t[4 * i + 1] - t[4 * i], time_of(s).total().value, 1e-9);
    EXPECT_DOUBLE_EQ(t[4 * i + 2], 0);
    EXPECT_DOUBLE_EQ(t[4 * i + 3], t[4 * i + 1]);
  }
}

// A write that is shorter than a step: the phase is the copy, the write ends behind it.
TEST(SimCheckpoint, AsynchronousOnesEndWhenAllIsCopied) {
  Scenario const s = saving(CheckpointMode::async, 1000);
  CheckpointTime const time = time_of(s);
  auto const t = times_of(s);
  for (std::size_t i = 0; i < kSteps; ++i) {
    EXPECT_NEAR(t[4 * i + 1] - t[4 * i], time.copy.value, 1e-9);
    EXPECT_NEAR(t[4 * i + 2], t[4 * i + 1] + time.write.value, 1e-9);
  }
}

// A write that is longer than a step: the next checkpoint waits until it ends.
TEST(SimCheckpoint, WaitsForTheWriteBefore) {
  Scenario const s = saving(CheckpointMode::async, 0.1);
  CheckpointTime const time = time_of(s);
  auto const t = times_of(s);
  EXPECT_NEAR(t[1] - t[0], time.copy.value, 1e-9);
  for (std::size_t i = 1; i < kSteps; ++i) {
    double const written = t[4 * (i - 1) + 2];
    EXPECT_GT(written, t[4 * i]);
    EXPECT_NEAR(t[4 * i + 1], written + time.copy.value, 1e-9);
  }
}

// The first rank writes alone; what others do meanwhile is waiting.
TEST(SimCheckpoint, GatheredOnesAreWrittenByTheFirstRank) {
  Scenario s = saving(CheckpointMode::sync, 2);
  double const sharded = time_of(s).total().value;
  s.job.checkpoint.format = CheckpointFormat::gathered;
  auto const t = times_of(s);
  EXPECT_NEAR(t[1] - t[0], time_of(s).total().value, 1e-9);
  EXPECT_GT(time_of(s).total().value, sharded);
}

// 8 GPUs of 50,000 h each: a failure every 6250 h.
TEST(SimCheckpoint, ALongRunIsPlannedWhereItIsAskedFor) {
  Scenario s = saving(CheckpointMode::async, 2);
  s.job.reliability.emplace();
  s.job.reliability->mtbf_per_gpu = Seconds(50'000.0 * 3600);
  s.job.reliability->relaunch = Seconds(300);
  CheckpointTime const time = time_of(s);
  auto const plan = in_child([&] {
    EventLog const log = simulate(s, round_profile(), {.steps = 1, .seed = 3});
    if (!log.long_run) return std::vector<double>{};
    LongRun const& r = log.long_run->run;
    return std::vector<double>{r.between_failures.value, r.checkpoint.value, r.write.value,
                               r.relaunch.value,         r.horizon.value,    r.load.value,
                               r.detection.value};
  });
  ASSERT_EQ(plan.size(), 7U);
  EXPECT_DOUBLE_EQ(plan[0], 6250 * 3600.0);
  EXPECT_DOUBLE_EQ(plan[1], time.copy.value);
  EXPECT_DOUBLE_EQ(plan[2], time.write.value);
  EXPECT_DOUBLE_EQ(plan[3], 300);
  EXPECT_DOUBLE_EQ(plan[4], 30 * 86'400.0);
  EXPECT_GT(plan[5], 0);
  EXPECT_DOUBLE_EQ(plan[6], 660);
}

}  // namespace
}  // namespace rollcast
