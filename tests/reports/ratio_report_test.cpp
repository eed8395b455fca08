#include "reports/ratio_report.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

#include "reports/ratio_verdict.hpp"

namespace rollcast {
namespace {

// A pipeline of two straight lines: generate = a / rollout GPUs, train = b / trainer GPUs, and the longer of
// the two is the step.
constexpr double kA = 960;
constexpr double kB = 320;

RatioPoint pipeline(int rollout, int train, double a = kA, double b = kB) {
  RatioPoint p;
  p.size = {rollout, train};
  p.gpus = rollout + train;
  p.generate = Seconds(a / rollout);
  p.train = Seconds(b / train);
  p.step = max(p.generate, p.train);
  p.steps = {p.step, p.step * 1.01};
  p.samples_per_second = 512 / p.step.value;
  p.gpu_hours_per_step = p.step.value * (rollout + train) / 3600;
  return p;
}

std::vector<RatioPoint> splits(int total, int unit, double a = kA, double b = kB) {
  std::vector<RatioPoint> out;
  for (int r = unit; r < total; r += unit) out.push_back(pipeline(r, total - r, a, b));
  return out;
}

// a / r = b / t: r / t = a / b = 960 / 320 = 3, 24 : 8 of 32 GPUs.
TEST(RatioBalanceOf, TwoStraightLines) {
  auto const at = balance(splits(32, 8));
  ASSERT_TRUE(at);
  EXPECT_NEAR(*at, 3, 1e-9);
  EXPECT_EQ(nearest_size(splits(32, 8), 24), (RatioSize{24, 8}));
}

// Between points the interpolation is exact for such lines.
TEST(RatioBalanceOf, IsExactBetweenSplits) {
  EXPECT_NEAR(*balance(splits(32, 5, 320, 960)), 320.0 / 960, 1e-9);
  EXPECT_NEAR(*balance(splits(32, 8, 700, 300)), 700.0 / 300, 1e-9);
}

// With a = 100 b generation takes longer at 24 : 8 still (417 s to 12.5 s).
TEST(RatioBalanceOf, ThereIsNoneWhereOneSideAlwaysTakesLonger) {
  auto const all = splits(32, 8, 10000, 100);
  EXPECT_FALSE(balance(all));
  EXPECT_EQ(longer_side(all), RatioSide::rollout);
  EXPECT_FALSE(balance({}));
  EXPECT_FALSE(longer_side({}));
  EXPECT_FALSE(longer_side(splits(32, 8)));
}

// Property: no split is more than one unit nearer to the least step than the balance.
TEST(RatioBalanceOf, IsWhereThePipelineIsFast) {
  for (double a = 50; a < 2000; a *= 1.7) {
    auto const all = splits(64, 8, a, 400);
    auto const q = balance(all);
    if (!q) continue;
    EXPECT_LE(std::abs(64 * *q / (1 + *q) - all[*fastest(all)].size.rollout_gpus), 8.0) << a;
  }
}

// Beside 8 that train (40 s): 8, 16, 24, 32 rollout GPUs take 120, 60, 40, 40 s. From 24 on nothing is
// gained; from 16 to 24 log(60 / 40) / log(24 / 16) = 1.
TEST(RatioKnee, IsWhereTheTrainerTakesAsLong) {
  std::vector<RatioPoint> growth;
  for (int r : {8, 16, 24, 32}) growth.push_back(pipeline(r, 8));
  EXPECT_EQ(knee(growth), 24);
  growth.resize(3);
  EXPECT_FALSE(knee(growth));
  EXPECT_FALSE(knee({}));
}

// At 8 : 8 twice as many halve the step, and the trainer (40 s) still waits: generation, for want of GPUs. At
// 32 : 8 it does not wait; its 40 s are more than 30 s.
TEST(RatioBottleneckOf, ThePipelineOfStraightLines) {
  RatioPoint const few = pipeline(8, 8), more = pipeline(16, 8), many = pipeline(32, 8),
                   most = pipeline(64, 8);
  RatioBottleneck const b = bottleneck(few, &more, ScheduleKind::async);
  EXPECT_EQ(b.side, RatioSide::rollout);
  EXPECT_EQ(b.limit, RatioLimit::gpus);
  EXPECT_EQ(bottleneck(many, &most, ScheduleKind::async).side, RatioSide::train);
  EXPECT_EQ(bottleneck(many, nullptr, ScheduleKind::async).side, RatioSide::train);
  EXPECT_EQ(bottleneck(few, nullptr, ScheduleKind::async).side, RatioSide::rollout);
}

// 30 s of latency whatever the GPUs, and a trainer that works 8 of them: twice the engines change nothing and
// the trainer waits all the same. What it lets be under way is the limit, not the engines.
TEST(RatioBottleneckOf, LongResponsesAreNoWantOfEngines) {
  RatioPoint p = pipeline(8, 32), twice = pipeline(16, 32);
  for (RatioPoint* q : {&p, &twice}) {
    q->generate = q->step = Seconds(30);
    q->train = Seconds(8);
  }
  RatioBottleneck const b = bottleneck(p, &twice, ScheduleKind::async);
  EXPECT_EQ(b.side, RatioSide::train);
  EXPECT_EQ(b.limit, RatioLimit::bound);
}

// Steps of 10 and 12 s become 9 and 12.6 s: -10 % and +5 %, together 21.6 / 22 - 1; nobody can tell.
TEST(RatioStepChange, IsSureWhereAllSeedsAgree) {
  RatioPoint a, b;
  a.steps = {Seconds(10), Seconds(12)};
  a.step = Seconds(11);
  b.steps = {Seconds(9), Seconds(12.6)};
  b.step = Seconds(10.8);
  RatioChange c = step_change(a, b);
  EXPECT_NEAR(c.mean, 10.8 / 11 - 1, 1e-12);
  EXPECT_NEAR(c.low, -0.1, 1e-12);
  EXPECT_NEAR(c.high, 0.05, 1e-12);
  EXPECT_FALSE(c.sure);
  b.steps[1] = Seconds(11);
  EXPECT_TRUE(step_change(a, b).sure);
  a.steps.pop_back();
  EXPECT_THROW(step_change(a, b), std::logic_error);
  b.steps.pop_back();
  EXPECT_FALSE(step_change(a, b).sure);  // one seed tells nothing of the others
}

// Where all have a price it counts: the second costs 3 $ for 512 samples, and more GPU-hours.
TEST(RatioCheapest, IsByDollarsWhereTheyAreKnown) {
  std::vector<RatioPoint> points = {pipeline(24, 8), pipeline(24, 16)};
  EXPECT_EQ(cheapest(points), 0u);
  points[0].dollars_per_step = 4;
  EXPECT_EQ(cheapest(points), 0u);
  points[1].dollars_per_step = 3;
  EXPECT_EQ(cheapest(points), 1u);
  EXPECT_FALSE(cheapest({}));
  EXPECT_FALSE(fastest({}));
}

Headline headline(double step, double rollout_work, double train_work) {
  Headline h;
  h.steps = 4;
  h.gpus = 40;
  h.step = Seconds(step);
  h.samples_per_second = 2;
  for (auto const& [name, work] : {std::pair("engines", rollout_work), std::pair("learner", train_work)}) {
    PoolHeadline p;
    p.name = name;
    p.work = Seconds(work);
    h.pools.push_back(p);
  }
  return h;
}

// (10 + 20) / 2, (9 + 20) / 2 and (6 + 10) / 2 s.
TEST(RatioPointOf, IsTheMeanOfTheSeeds) {
  RatioPoint const p =
      ratio_point({8, 32}, {"engines", "learner"}, {headline(10, 9, 6), headline(20, 20, 10)});
  EXPECT_DOUBLE_EQ(p.step.value, 15);
  EXPECT_DOUBLE_EQ(p.generate.value, 14.5);
  EXPECT_DOUBLE_EQ(p.train.value, 8);
  EXPECT_EQ(p.steps.size(), 2u);
  EXPECT_FALSE(p.dollars_per_step);
  EXPECT_THROW(ratio_point({8, 32}, {"engines", "learner"}, {}), std::logic_error);
  EXPECT_THROW(ratio_point({8, 32}, {"engines", "other"}, {headline(10, 0, 0)}), std::logic_error);
}

// Colocated, phases take turns: 4 s of generation, 3 + 2 s of training, 0.5 + 0.25 s of switching.
TEST(RatioPointOf, OneOnSharedGpusHasItsPhases) {
  Headline h = headline(9.75, 0, 0);
  h.pools.resize(1);
  h.phases = {{Phase::generate, 0, Seconds(4)},
              {Phase::sleep, 0, Seconds(0.5)},
              {Phase::old_logprob, 0, Seconds(3)},
              {Phase::update_actor, 0, Seconds(2)},
              {Phase::weight_sync, 0, Seconds(0.25)}};
  RatioPoint const p = ratio_point({40, 40}, {"engines", "engines"}, {h});
  EXPECT_DOUBLE_EQ(p.generate.value, 4);
  EXPECT_DOUBLE_EQ(p.train.value, 5);
  EXPECT_DOUBLE_EQ(p.sync.value, 0.75);
}

RatioReport report_of(std::vector<RatioPoint> const& split, RatioPoint const& base, RatioPoint const& twice) {
  RatioReport r;
  r.schedule = ScheduleKind::async;
  r.total = split.front().size.total();
  r.split = split;
  r.base = base;
  r.base->bottleneck = bottleneck(base, &twice, r.schedule);
  r.what_ifs = {{RatioKnob::rollout_gpus, static_cast<double>(base.size.rollout_gpus),
                 static_cast<double>(twice.size.rollout_gpus), twice}};
  r.lengths = {{0.5, splits(32, 8, kA / 2), {}}, {1, split, {}}, {2, splits(32, 8, kA * 2), {}}};
  r.colocated.reason = "nothing was tried";
  return r;
}

// Half the generation: 32 x 480 / 800 = 19.2. Twice: 32 x 1920 / 2240 = 27.43, beyond the last split, 24 : 8.
TEST(RatioBand, GoesFromTheLeastToTheMostBalance) {
  RatioReport r = report_of(splits(32, 8), pipeline(8, 24), pipeline(16, 24));
  auto const band = balance_band(r);
  ASSERT_TRUE(band);
  EXPECT_NEAR(band->low, 19.2, 1e-9);
  EXPECT_NEAR(band->high, 24, 1e-9);
  EXPECT_EQ(band->lengths, 2);
  // More engines beside 24 that train find it: 24 x 6 = 144, which is 32 x 6 / 7 of a total.
  r.lengths[2].rollout = {pipeline(8, 24, kA * 2), pipeline(16, 24, kA * 2), pipeline(160, 24, kA * 2)};
  EXPECT_NEAR(balance_band(r)->high, 32 * 6.0 / 7, 1e-9);
  r.lengths.clear();
  EXPECT_FALSE(balance_band(r));
}

// Splits that all lie on one side: the balance of more engines beside the base's trainer, 3 for one that
// trains.
TEST(RatioBand, IsBesideTheTrainerWhereTheSplitsHaveNone) {
  RatioReport r = report_of({pipeline(8, 24)}, pipeline(8, 24), pipeline(16, 24));
  EXPECT_FALSE(report_balance(r));
  r.rollout = {pipeline(8, 24), pipeline(48, 24), pipeline(96, 24)};
  r.lengths = {{1, r.split, r.rollout}};
  auto const at = report_balance(r);
  ASSERT_TRUE(at);
  EXPECT_FALSE(at->of_split);
  EXPECT_NEAR(at->rollout_per_train, 3, 1e-9);
  EXPECT_NEAR(at->rollout_gpus, 72, 1e-9);
  EXPECT_NEAR(balance_band(r)->high, 72, 1e-9);
}

TEST(RatioVerdict, SaysThatMoreRolloutGpusHelp) {
  auto const v = ratio_verdict(report_of(splits(32, 8), pipeline(8, 24), pipeline(16, 24)));
  EXPECT_EQ(v.at(0).find("Balance at 24.0 rollout : 8.0 train of 32 GPUs"), 0u) << v.at(0);
  // 120 s become 60 s on 40 GPUs in place of 32: 40 / 32 / 2 - 1 = -37.5 %.
  EXPECT_NE(v.at(1).find("generation is the bottleneck: 8 -> 16 rollout GPUs change the step by -50.0 % and "
                         "GPU-hours a step by -37.5 %; more rollout GPUs help"),
            std::string::npos)
      << v.at(1);
}

// 40 s whatever the engines: 56 / 40 GPUs cost 40 % more.
TEST(RatioVerdict, SaysThatTheyDoNot) {
  RatioPoint base = pipeline(32, 8), twice = pipeline(48, 8);
  auto const v = ratio_verdict(report_of(splits(32, 8), base, twice));
  EXPECT_NE(v.at(1).find("the trainer is the bottleneck: 32 -> 48 rollout GPUs change the step by 0 % and "
                         "GPU-hours a step by +40.0 %; more rollout GPUs do not help"),
            std::string::npos)
      << v.at(1);
}

TEST(RatioVerdict, HasASentenceForNoSplit) {
  RatioReport r;
  r.total = 8;
  EXPECT_EQ(ratio_verdict(r), std::vector<std::string>{"No split of 8 GPUs can be simulated."});
  r.infeasible = {{"split", {4, 4}, 1, "rank 0 runs out of memory"}};
  EXPECT_EQ(ratio_verdict(r), std::vector<std::string>{
                                  "No split of 8 GPUs can be simulated; 4 : 4: rank 0 runs out of memory."});
}

}  // namespace
}  // namespace rollcast
