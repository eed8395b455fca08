#include "models/served_load.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace rollcast {
namespace {

constexpr std::int64_t kPages = 1 << 20;

EngineOptions engine(int max_num_seqs, int budget) {
  EngineOptions o;
  o.max_num_seqs = max_num_seqs;
  o.max_num_batched_tokens = budget;
  o.chunked_prefill = false;
  return o;
}

StepPrices step_of(double seconds_of_step) {
  StepPrices p;
  p.fixed = seconds(seconds_of_step);
  return p;
}

// A prefill costs nothing: every step takes 10 ms and yields one token of each request. A request that is
// submitted at a step boundary has its first token after that step.
TEST(ServedLoad, OfOneStepTimeIsThatStepTime) {
  StepPrices const p = step_of(0.010);
  ServedTimes const t = served_times(engine(64, 8192), kPages, p, {}, {8, 100, 50});
  EXPECT_NEAR(t.tpot.value, 0.010, 1e-12);
  EXPECT_NEAR(t.ttft.value, 0.010, 1e-12);
}

// A step of 10 ms; a token of the dense work costs 10 us, but only prefill has many: 8 decoding ones add 80
// us at most. One prompt of 1,000 tokens fits in a step (budget 1,100), so the eight prompts are spread over
// the response, and while a request decodes its 99 other tokens it sees each of the other seven prefills
// once:
//   steps without a prefill 10 ms, with one 10 ms + 1,000 x 10 us = 20 ms
//   99 steps, 7 of them with a prefill: (99 x 10 + 7 x 10) / 99 ms = 10.7071 ms
// The dense work is 10 us x (tokens - 8) above 8 tokens, so that decoding costs none.
TEST(ServedLoad, ContainsThePrefillOfTheOtherRequests) {
  StepPrices p = step_of(0.010);
  p.dense = {{0, 8, 2008}, {0, 0, 0.020}};
  ServedTimes const t = served_times(engine(64, 1100), kPages, p, {}, {8, 1000, 100});
  // A step with a prefill has 7 decoding tokens beside the prompt: 999 tokens above 8.
  EXPECT_NEAR(t.tpot.value, (99 * 0.010 + 7 * 0.00999) / 99, 1e-12);
  // Its own prefill, no queue: a request ends in a step of its own.
  EXPECT_NEAR(t.ttft.value, 0.01999, 1e-12);
}

// The same with free prompts and launches of 25 ms in a prefill step: 99 steps, 7 of them of 25 ms.
TEST(ServedLoad, APrefillStepTakesAtLeastItsLaunches) {
  StepPrices const p = step_of(0.010);
  ServedTimes const t = served_times(engine(64, 1100), kPages, p, seconds(0.025), {8, 1000, 100});
  EXPECT_NEAR(t.tpot.value, (92 * 0.010 + 7 * 0.025) / 99, 1e-12);
  EXPECT_NEAR(t.ttft.value, 0.025, 1e-12);
}

// An engine that runs 7 of 8 requests has one in its queue all the time. The seven started one step after the
// other and end so, in every round of 100 steps: a request that was queued when the first of them ended waits
// one step for the second to end, and so on, the one queued last waits for the next round: 6 x 1 + 94 = 100
// steps of waiting a round of seven. Measured are 24 requests, three rounds and three that wait one step.
TEST(ServedLoad, AQueueShowsInTheFirstToken) {
  StepPrices const p = step_of(0.010);
  ServedTimes const t = served_times(engine(7, 1100), kPages, p, {}, {8, 1000, 100});
  EXPECT_NEAR(t.tpot.value, 0.010, 1e-12);
  EXPECT_NEAR(t.ttft.value, 0.010 * (1 + (3 * 100 + 3 * 1) / 24.0), 1e-12);
}

TEST(ServedLoad, ResponsesOfOneTokenHaveNoTimePerToken) {
  ServedTimes const t = served_times(engine(4, 8192), kPages, step_of(0.010), {}, {4, 100, 1});
  EXPECT_DOUBLE_EQ(t.tpot.value, 0);
  EXPECT_NEAR(t.ttft.value, 0.010, 1e-12);
}

TEST(ServedLoad, RefusesALoadOfNothing) {
  StepPrices const p = step_of(0.010);
  EXPECT_THROW((served_times(engine(4, 100), kPages, p, {}, {0, 10, 10})), std::logic_error);
  EXPECT_THROW((served_times(engine(4, 100), kPages, p, {}, {1, 0, 10})), std::logic_error);
  EXPECT_THROW((served_times(engine(4, 100), kPages, p, {}, {1, 10, 0})), std::logic_error);
}

}  // namespace
}  // namespace rollcast
