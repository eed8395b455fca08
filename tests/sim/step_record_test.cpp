// What the log says of the samples of a step.
#include "sim/step_record.hpp"

#include <gtest/gtest.h>

#include "models/group_signal.hpp"
#include "sim/simulate.hpp"
#include "tests/models/price_fixtures.hpp"
#include "tests/sim/child_process.hpp"

namespace rollcast {
namespace {

constexpr int kPrompts = 16;
constexpr int kGroup = 4;
constexpr std::uint64_t kSeed = 3;

// One node, synchronous.
Scenario small_grpo() {
  Scenario s;
  s.name = "small";
  s.job = llama_job(1);
  s.job.model = catalog_model("llama-3.2-1b");
  Algorithm& a = s.job.algorithm;
  a.prompts = kPrompts;
  a.group_size = kGroup;
  a.train_batch = kPrompts * kGroup;
  s.job.workload.prompt_tokens = {FixedLength{64}, 0, 0};
  s.job.workload.response_tokens = {LogNormalLength{5, 1, 2000}, 0, 0};
  s.job.train.packing = true;
  return s;
}

// generated, trained, with signal (-1: not told), then the staleness, of each step.
std::vector<double> samples_of(Scenario const& s, int steps) {
  return in_child([&] {
    std::vector<double> out;
    EventLog const log = simulate(s, round_profile(), {.steps = steps, .seed = kSeed});
    for (StepRecord const& r : log.steps) {
      out.push_back(static_cast<double>(r.generated_samples));
      out.push_back(static_cast<double>(r.samples));
      out.push_back(static_cast<double>(r.signal_samples.value_or(-1)));
      out.push_back(static_cast<double>(r.staleness.size()));
      out.push_back(static_cast<double>(r.staleness.empty() ? 0 : r.staleness.front()));
    }
    return out;
  });
}

TEST(StepRecord, SignalIsToldWhereTheScenarioTellsIt) {
  Scenario s = small_grpo();
  EXPECT_EQ(samples_of(s, 1), (std::vector<double>{64, 64, -1, 1, 64}));
  s.job.algorithm.equal_reward_groups = 0.4;
  double groups = 0;
  for (std::uint64_t g = 0; g < kPrompts; ++g)
    groups += has_signal(0.4, {kSeed, Purpose::reward_signal, 0, g}) ? 1 : 0;
  EXPECT_GT(groups, 0);
  EXPECT_LT(groups, kPrompts);
  EXPECT_EQ(samples_of(s, 1), (std::vector<double>{64, 64, groups * kGroup, 1, 64}));
}

// Whatever dynamic sampling trains on has a signal; it generates whole rounds of twice the prompts.
TEST(StepRecord, DynamicSamplingTrainsOnSignalOnly) {
  Scenario s = small_grpo();
  s.job.algorithm.equal_reward_groups = 0.4;
  s.job.algorithm.dynamic_sampling = DynamicSampling{2, 10};
  auto const r = samples_of(s, 1);
  ASSERT_EQ(r.size(), 5U);
  EXPECT_GE(r[1], 64);
  EXPECT_EQ(r[2], r[1]);
  EXPECT_GE(r[0], 128);
}

// 24 prompts are started, 16 trained on; the 8 that are left go on in the next step, which starts 16 others.
// What goes on is a weight update old, and no sample is counted twice.
TEST(StepRecord, WhatGoesOnInTheNextStepIsOlder) {
  Scenario s = small_grpo();
  s.job.rollout.oversampling = 1.5;
  s.job.rollout.partial_rollout = true;
  auto const r = samples_of(s, 2);
  ASSERT_EQ(r.size(), 10U);
  EXPECT_EQ(r[0], 24 * kGroup);
  EXPECT_EQ(r[1], 64);
  EXPECT_EQ(r[3], 1);
  EXPECT_EQ(r[5], 16 * kGroup);
  EXPECT_EQ(r[6], 64);
  EXPECT_EQ(r[8], 2);
  EXPECT_LT(r[9], 64);
}

}  // namespace
}  // namespace rollcast
