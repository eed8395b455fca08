#include "models/fed_rollout.hpp"

#include <gtest/gtest.h>

namespace rollcast {
namespace {

// A step of 1 s, whatever is in it.
StepPrices one_second() {
  StepPrices p;
  p.fixed = seconds(1);
  return p;
}

EngineOptions options() {
  EngineOptions e;
  e.max_num_seqs = 8;
  e.max_num_batched_tokens = 1024;
  return e;
}

std::vector<Request> requests() { return {{0, -1, 10, 3}, {1, -1, 10, 5}, {2, -1, 10, 2}}; }

// The prompt's step yields the first token, so n tokens take n steps. Two at a time: 5 s, then 2 s, and 10 s
// of scoring after each: 27 s. At once: 5 s and 10 s.
TEST(FedRollout, FeedsWaitForTheLongestBeforeThem) {
  StepPrices const prices = one_second();
  RolloutEngine fed(options(), 1000, prices);
  std::vector<Completion> out;
  EXPECT_DOUBLE_EQ(run_fed(fed, requests(), 2, seconds(10), out).value, 27);
  ASSERT_EQ(out.size(), 3U);
  EXPECT_EQ(out[0].id, 0);
  EXPECT_DOUBLE_EQ(out[0].time.value, 3);
  EXPECT_DOUBLE_EQ(out[1].time.value, 5);
  EXPECT_DOUBLE_EQ(out[2].time.value, 17);
  RolloutEngine whole(options(), 1000, prices);
  out.clear();
  EXPECT_DOUBLE_EQ(run_fed(whole, requests(), 0, seconds(10), out).value, 15);
  EXPECT_EQ(out.size(), 3U);
}

TEST(FedRollout, NothingTakesNoTime) {
  StepPrices const prices = one_second();
  RolloutEngine engine(options(), 1000, prices);
  std::vector<Completion> out;
  EXPECT_DOUBLE_EQ(run_fed(engine, {}, 4, seconds(10), out).value, 0);
}

}  // namespace
}  // namespace rollcast
