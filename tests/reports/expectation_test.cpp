#include "reports/expectation.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rollcast {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// 13.91 GiB asked for in the log-probabilities of step 2, by rank 3 of pool train.
Analysis out_of_memory() {
  Analysis a;
  a.outcome = Outcome::oom;
  a.outcome_reason = "rank 3 runs out of memory";
  a.pools.emplace_back().name = "train";
  OomRecord o;
  o.rank = 3;
  o.step = 1;
  o.phase = Phase::old_logprob;
  o.allocation = "actor logits: entropy";
  o.requested = GiB(13.91);
  a.ooms = {o};
  return a;
}

TEST(Expectation, OnlyWhatIsSetIsCompared) {
  Expected e;
  e.outcome = Outcome::oom;
  EXPECT_THAT(unmet(e, out_of_memory()), IsEmpty());
  e.kind = OomKind::torch;
  e.phase = Phase::old_logprob;
  e.pool = "train";
  e.rank = 3;
  e.step = 2;
  e.allocation = "entropy";
  e.reason = "out of memory";
  e.requested = GiB(13.92);  // 0.07 % more, within the tolerance of 0.1 %
  EXPECT_THAT(unmet(e, out_of_memory()), IsEmpty());
  EXPECT_EQ(expectation_text(e), "oom (torch) in old_logprob of step 2, entropy");
}

TEST(Expectation, SaysWhatIsOtherwise) {
  Expected e;
  EXPECT_THAT(unmet(e, out_of_memory()), ElementsAre("outcome: expected completed, got oom"));
  e.outcome = Outcome::oom;
  e.kind = OomKind::driver;
  e.phase = Phase::wake;
  e.rank = 0;
  e.requested = GiB(13.93);  // 0.14 %
  EXPECT_THAT(unmet(e, out_of_memory()),
              ElementsAre("kind: expected driver, got torch", "phase: expected wake, got old_logprob",
                          "rank: expected 0, got 3", "requested: expected 13.9 GiB, got 13.9 GiB"));
}

// Steps of 100 s with 30 s of generation on one pool and 12 s on another; a third of the second pool's time
// is waited.
Analysis two_pools() {
  Analysis a;
  a.step = {.steps = 1, .mean = seconds(100), .p10 = {}, .p50 = {}, .p90 = {}};
  a.phases = {{Phase::generate, 0, seconds(30), {}}, {Phase::generate, 1, seconds(12), {}}};
  a.pools.resize(2);
  a.pools[0].name = "train";
  a.pools[1].name = "rollout";
  a.pools[1].idle_by_cause = {{"driver", 0.1}, {"phase_wait", 0.33}};
  return a;
}

TEST(Expectation, TimesLieBetweenTheirBounds) {
  Expected e;
  e.step_seconds = {seconds(100), seconds(100)};
  e.phase_seconds = {{Phase::generate, {seconds(42), seconds(42)}}, {Phase::wake, {{}, seconds(0)}}};
  e.idle = {"rollout", "phase_wait", 0.33};
  EXPECT_THAT(unmet(e, two_pools()), IsEmpty());
}

TEST(Expectation, SaysWhichTimeIsOutside) {
  Expected e;
  e.step_seconds = {seconds(110), {}};
  e.phase_seconds = {{Phase::generate, {{}, seconds(40)}}, {Phase::wake, {seconds(1), {}}}};
  e.idle = {"rollout", "phase_wait", 0.4};
  EXPECT_THAT(unmet(e, two_pools()), ElementsAre("step_seconds: expected at least 110 s, got 100 s",
                                                 "seconds of generate: expected at most 40.0 s, got 42.0 s",
                                                 "seconds of wake: expected at least 1.00 s, got 0 s",
                                                 "phase_wait: expected at least 0.4, got 0.33"));
  e = {};
  e.idle = {"", "phase_wait", 0.1};  // the first pool's
  EXPECT_THAT(unmet(e, two_pools()), ElementsAre("phase_wait: expected at least 0.1, got 0"));
  e.idle = {"score", "driver", 0.1};
  EXPECT_THAT(unmet(e, two_pools()), ElementsAre("idle: expected a pool score, got none"));
}

TEST(Expectation, PreemptionsAreAtLeast) {
  Analysis a;
  a.preemptions = 5;
  Expected e;
  e.preemptions = 5;
  EXPECT_THAT(unmet(e, a), IsEmpty());
  e.preemptions = 6;
  EXPECT_THAT(unmet(e, a), ElementsAre("preemptions: expected at least 6, got 5"));
}

}  // namespace
}  // namespace rollcast
