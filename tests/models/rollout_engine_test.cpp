#include "models/rollout_engine.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

namespace rollcast {
namespace {

// A step of one second whatever it holds: times count steps.
StepPrices one_second() {
  StepPrices p;
  p.fixed = seconds(1);
  return p;
}

EngineOptions options(int block_size, int max_num_seqs, int budget) {
  EngineOptions o;
  o.block_size = block_size;
  o.max_num_seqs = max_num_seqs;
  o.max_num_batched_tokens = budget;
  return o;
}

struct Ended {
  std::int64_t id;
  double time;
  int generated;
  bool aborted = false;
};
void expect_ended(std::vector<Completion> const& out, std::vector<Ended> const& wanted) {
  ASSERT_EQ(out.size(), wanted.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    EXPECT_EQ(out[i].id, wanted[i].id) << i;
    EXPECT_DOUBLE_EQ(out[i].time.value, wanted[i].time) << i;
    EXPECT_EQ(out[i].generated, wanted[i].generated) << i;
    EXPECT_EQ(out[i].aborted, wanted[i].aborted) << i;
  }
}

TEST(RolloutEngine, ThePrefillStepYieldsTheFirstToken) {
  StepPrices const p = one_second();
  RolloutEngine e(options(4, 8, 100), 100, p);
  e.submit({{1, -1, 10, 1}, {2, -1, 10, 5}}, seconds(2));
  std::vector<Completion> out;
  EXPECT_DOUBLE_EQ(e.run_to_end(out).value, 7);
  expect_ended(out, {{1, 3, 1}, {2, 7, 5}});
  EXPECT_EQ(e.counters().steps, 5);
  EXPECT_EQ(e.counters().prefill_tokens, 20);
  EXPECT_EQ(e.counters().generated_tokens, 6);
  EXPECT_EQ(e.counters().peak_blocks, 6);  // two prompts of 10: 3 pages of 4 each; later 14 tokens: 4 pages
  EXPECT_DOUBLE_EQ(e.counters().busy.value, 5);
  // Decoding of request 2 writes tokens 11, 12, 13, 14.
  EXPECT_DOUBLE_EQ(e.counters().decode_context_sum, 50);
}

TEST(RolloutEngine, PricesAStepByItsParts) {
  StepPrices p;
  p.fixed = seconds(100);
  p.per_sequence = seconds(10);
  p.dense = {{0, 1}, {0, 2}};
  p.batch_knots = {1};
  p.context_knots = {0, 10};
  p.decode_attention = {{0, 1}};
  p.prefill = {{0, 1}, {0, 0.001}};
  RolloutEngine e(options(4, 8, 6), 100, p);
  e.submit({1, -1, 10, 3}, seconds(0));
  std::vector<Completion> out;
  e.run_to_end(out);
  // Chunk of 6: 100 + 10 + 12 + 0.021 (21 pairs). Chunk of 4 after 6: 24 + 10 pairs: 100 + 10 + 8 + 0.034.
  // Decode at contexts 11 and 12: 100 + 10 + 2 + 1.1 and + 1.2.
  expect_ended(out, {{1, 122.021 + 118.034 + 113.1 + 113.2, 3}});
}

TEST(RolloutEngine, ChunksShareTheBudgetAndDecodingGoesFirst) {
  StepPrices const p = one_second();
  RolloutEngine e(options(4, 8, 10), 100, p);
  e.submit({{1, -1, 4, 6}, {2, -1, 16, 1}, {3, -1, 5, 1}}, seconds(0));
  std::vector<Completion> out;
  e.run_to_end(out);
  // Step 1: 4 tokens of 1 and 6 of 2. Step 2: 1 decodes, 2 gets 9. Step 3: 1 decodes, 2 its last token
  // (done), 3 all 5 (done). 1 has 3 tokens by then and needs 3 more.
  expect_ended(out, {{2, 3, 1}, {3, 3, 1}, {1, 6, 6}});
}

TEST(RolloutEngine, WithoutChunkedPrefillAPromptWaitsForRoom) {
  StepPrices const p = one_second();
  EngineOptions o = options(4, 8, 20);
  o.chunked_prefill = false;
  RolloutEngine e(o, 100, p);
  e.submit({{1, -1, 4, 2}, {2, -1, 17, 1}, {3, -1, 1, 1}}, seconds(0));
  std::vector<Completion> out;
  e.run_to_end(out);
  // Step 1: 4 of 20; 17 do not fit, and 3 stands behind 2. Step 2: 1 decodes (done), 2 with 17, 3 with 1.
  expect_ended(out, {{1, 2, 2}, {2, 2, 1}, {3, 2, 1}});
}

// vLLM before 0.8, two at a time. Prompts first: 1 (17 more do not fit), then 2 (done at once), then 3 in its
// place; 1 and 3 decode (3 done), then 4's prompt (done), then 1 decodes for the last time.
TEST(RolloutEngine, EarlyReleasesGivePromptsStepsOfTheirOwn) {
  StepPrices p = one_second();
  p.dense = {{0, 1}, {0, 0.001}};
  EngineOptions o = options(4, 2, 20);
  o.chunked_prefill = false;
  o.version = "0.6.5";
  RolloutEngine e(o, 100, p);
  e.submit({{1, -1, 4, 3}, {2, -1, 17, 1}, {3, -1, 1, 2}, {4, -1, 2, 1}}, seconds(0));
  std::vector<Completion> out;
  e.run_to_end(out);
  // Tokens: 4; 17; 1 (a prompt, 2 being done); 1 and 3 decode (3 done); 2 (4, done); 1 decodes.
  expect_ended(out, {{2, 2.021, 1}, {3, 4.024, 2}, {4, 5.026, 1}, {1, 6.027, 3}});
  EXPECT_EQ(e.counters().steps, 6);
}

TEST(RolloutEngine, PreemptsTheLastAdmittedAndRecomputesIt) {
  StepPrices const p = one_second();
  // 5 pages of 2. Two prompts of 4 take 2 each. Step 2 (contexts 4 -> 5): 1 takes the last page, 2 finds none
  // and goes itself (it has generated 1). Step 3: free 2 pages, 1 has 6 tokens in 3 pages, needs none; 2
  // needs ceil(5/2) = 3: waits. Step 4: 1 takes its 4th page. 1 has 4 tokens after step 4 and ends with its
  // 5th, in step 5. Step 6: 2 recomputes 5 tokens and yields its 2nd, step 7 its 3rd.
  RolloutEngine e(options(2, 8, 100), 5, p);
  e.submit({{1, -1, 4, 5}, {2, -1, 4, 3}}, seconds(0));
  std::vector<Completion> out;
  e.run_to_end(out);
  expect_ended(out, {{1, 5, 5}, {2, 7, 3}});
  EXPECT_EQ(e.counters().preemptions, 1);
  EXPECT_EQ(e.counters().prefill_tokens, 4 + 4 + 5);
  EXPECT_EQ(e.counters().peak_blocks, 4);
}

TEST(RolloutEngine, AGroupSharesTheFullPagesOfItsPrompt) {
  StepPrices const p = one_second();
  RolloutEngine e(options(4, 8, 100), 100, p);
  // Prompt 12: (12 - 1) / 4 = 2 shareable pages. The second sibling, in the same step, already finds them,
  // and computes 4 tokens.
  e.submit({{1, 7, 12, 1}, {2, 7, 12, 1}, {3, 8, 12, 1}}, seconds(0));
  std::vector<Completion> out;
  e.advance_to(seconds(0.5), out);
  EXPECT_EQ(e.counters().cached_tokens, 8);
  EXPECT_EQ(e.counters().prefill_tokens, 12 + 4 + 12);
  EXPECT_EQ(e.counters().peak_blocks, 2 + 1 + 1 + 3);
  // They stay cached after the last member has gone.
  EXPECT_EQ(e.curve().back().used_blocks, 0);
  e.submit({4, 7, 12, 1}, seconds(1));
  e.run_to_end(out);
  EXPECT_EQ(e.counters().cached_tokens, 16);
  e.drop_cache();
  e.submit({5, 7, 12, 1}, seconds(2));
  e.run_to_end(out);
  EXPECT_EQ(e.counters().cached_tokens, 16);
}

TEST(RolloutEngine, CachedPagesGoTheLeastRecentlyUsedGroupFirst) {
  StepPrices const p = one_second();
  RolloutEngine e(options(4, 8, 100), 10, p);
  std::vector<Completion> out;
  // Groups 1, 2, 3 leave 3 cached pages each (prompt 13); 1 page is empty.
  for (std::int64_t g : {1, 2, 3}) e.submit({g, g, 13, 1}, seconds(static_cast<double>(g)));
  e.run_to_end(out);
  EXPECT_EQ(e.counters().cached_tokens, 0);
  // 3 pages: the empty one and the last two of group 1.
  e.submit({4, -1, 9, 1}, seconds(10));
  e.run_to_end(out);
  e.submit({5, 2, 13, 1}, seconds(20));  // all 3 pages
  e.run_to_end(out);
  EXPECT_EQ(e.counters().cached_tokens, 12);
  e.submit({6, 1, 13, 1}, seconds(30));  // 1 page is left
  e.run_to_end(out);
  EXPECT_EQ(e.counters().cached_tokens, 12 + 4);
}

TEST(RolloutEngine, WithoutPrefixCachingNothingIsShared) {
  StepPrices const p = one_second();
  EngineOptions o = options(4, 8, 100);
  o.prefix_caching = false;
  RolloutEngine e(o, 100, p);
  e.submit({{1, 7, 12, 1}, {2, 7, 12, 1}}, seconds(0));
  std::vector<Completion> out;
  e.run_to_end(out);
  EXPECT_EQ(e.counters().cached_tokens, 0);
  EXPECT_EQ(e.counters().peak_blocks, 6);
}

TEST(RolloutEngine, OutsideEventsActAtTheNextStepBoundary) {
  StepPrices const p = one_second();
  RolloutEngine e(options(4, 8, 100), 100, p);
  std::vector<Completion> out;
  e.submit({1, -1, 4, 100}, seconds(0));
  e.submit({2, -1, 4, 100}, seconds(2.5));  // admitted at 3
  e.pause(seconds(5.25));                   // no step from 6 on
  e.resume(seconds(10.75));                 // paused: acts at once
  e.advance_to(seconds(4.1), out);
  EXPECT_DOUBLE_EQ(e.now().value, 5);
  EXPECT_TRUE(e.abort(2, out));  // tokens of the steps 3-4 and 4-5
  EXPECT_FALSE(e.abort(2, out));
  e.advance_to(seconds(8), out);
  EXPECT_DOUBLE_EQ(e.now().value, 8);
  EXPECT_EQ(e.counters().steps, 6);
  e.advance_to(seconds(11), out);
  EXPECT_DOUBLE_EQ(e.now().value, 11.75);
  e.submit({3, -1, 4, 1}, seconds(100));
  e.abort_all(out);
  expect_ended(out, {{2, 5, 2, true}, {1, 11.75, 7, true}, {3, 11.75, 0, true}});
  EXPECT_FALSE(e.next_event_time().has_value());
}

TEST(RolloutEngine, DropCacheRecomputesWhatIsInFlight) {
  StepPrices const p = one_second();
  RolloutEngine e(options(4, 8, 100), 100, p);
  std::vector<Completion> out;
  e.submit({{1, -1, 4, 4}, {2, -1, 4, 5}}, seconds(0));
  e.advance_to(seconds(2), out);
  e.drop_cache();
  EXPECT_EQ(e.curve().back().used_blocks, 0);
  e.run_to_end(out);
  expect_ended(out, {{1, 4, 4}, {2, 5, 5}});  // the step that recomputes yields a token, too
  EXPECT_EQ(e.counters().prefill_tokens, 8 + 12);
  EXPECT_EQ(e.counters().preemptions, 0);
}

TEST(RolloutEngine, ARequestGoesOnWhereAnEarlierLifeEnded) {
  StepPrices const p = one_second();
  RolloutEngine e(options(4, 8, 10), 100, p);
  std::vector<Completion> out;
  // 6 + 5 tokens to prefill in chunks of 10 and 1; the second yields the 6th token, two more follow.
  e.submit({1, -1, 6, 8, 5}, seconds(0));
  e.run_to_end(out);
  expect_ended(out, {{1, 4, 8}});
  EXPECT_EQ(e.counters().prefill_tokens, 11);
  EXPECT_EQ(e.counters().generated_tokens, 3);
  EXPECT_THROW(e.submit({2, -1, 6, 8, 8}, seconds(9)), std::logic_error);
  EXPECT_THROW(e.submit({2, -1, 6, 8, -1}, seconds(9)), std::logic_error);
}

TEST(RolloutEngine, NextChangeTellsWhatItDependsOn) {
  StepPrices const p = one_second();
  RolloutEngine e(options(4, 8, 100), 100, p);
  std::vector<Completion> out;
  EXPECT_FALSE(e.next_change().time < seconds(1e300));
  e.submit({1, -1, 4, 5}, seconds(2));
  auto const expect_next = [&](double time, bool starts_step) {
    EXPECT_DOUBLE_EQ(e.next_change().time.value, time);
    EXPECT_EQ(e.next_change().starts_step, starts_step);
    e.run_change(out);
  };
  expect_next(2, false);  // the arrival; another one at 2 would still join it
  expect_next(2, true);   // the step with the prompt
  EXPECT_DOUBLE_EQ(e.now().value, 3);
  expect_next(3, true);  // four decode steps are planned
  e.submit({2, -1, 4, 2}, seconds(4.5));
  expect_next(4.5, false);  // cut at 5
  EXPECT_DOUBLE_EQ(e.now().value, 5);
  expect_next(5, true);  // the prompt of 2, to 6
  expect_next(6, true);  // one decode step
  EXPECT_THROW(e.drop_cache(), std::logic_error);
  expect_next(7, false);
  expect_ended(out, {{1, 7, 5}, {2, 7, 2}});
  EXPECT_FALSE(e.next_change().time < seconds(1e300));
}

TEST(RolloutEngine, NextEventTimeIsTheNextCompletion) {
  StepPrices const p = one_second();
  RolloutEngine e(options(4, 1, 2), 100, p);
  EXPECT_FALSE(e.next_event_time().has_value());
  e.submit({{1, -1, 4, 3}, {2, -1, 2, 1}}, seconds(0));  // two chunks, two more tokens; then one step
  std::vector<Completion> out;
  EXPECT_DOUBLE_EQ(e.next_event_time().value().value, 4);
  EXPECT_DOUBLE_EQ(e.now().value, 0);
  e.advance_to(seconds(2), out);
  EXPECT_DOUBLE_EQ(e.next_event_time().value().value, 4);
  e.advance_to(seconds(4), out);
  EXPECT_EQ(out.size(), 1U);
  e.pause(seconds(4));
  EXPECT_FALSE(e.next_event_time().has_value());
  e.resume(seconds(9));
  EXPECT_DOUBLE_EQ(e.next_event_time().value().value, 10);
}

TEST(RolloutEngine, RefusesWhatCanNeverRun) {
  StepPrices const p = one_second();
  RolloutEngine e(options(4, 8, 100), 10, p);
  EXPECT_NO_THROW(e.submit({1, -1, 20, 21}, seconds(0)));
  EXPECT_THROW(e.submit({2, -1, 20, 22}, seconds(0)), std::logic_error);  // 41 tokens in KV: 11 pages
  EXPECT_THROW(e.submit({3, -1, 0, 1}, seconds(0)), std::logic_error);
  EXPECT_THROW(e.submit({4, -1, 1, 0}, seconds(0)), std::logic_error);
  EXPECT_NO_THROW(e.submit({5, 1, 10, 1}, seconds(0)));
  EXPECT_THROW(e.submit({6, 1, 11, 1}, seconds(0)), std::logic_error);
  EngineOptions o = options(4, 8, 30);
  o.chunked_prefill = false;
  RolloutEngine whole(o, 100, p);
  EXPECT_NO_THROW(whole.submit({1, -1, 20, 11}, seconds(0)));
  EXPECT_THROW(whole.submit({2, -1, 20, 12}, seconds(0)), std::logic_error);
  EXPECT_THROW(RolloutEngine(options(0, 8, 30), 10, p), std::logic_error);
  EXPECT_THROW(RolloutEngine(options(4, 0, 30), 10, p), std::logic_error);
  EXPECT_THROW(RolloutEngine(options(4, 8, 0), 10, p), std::logic_error);
  EXPECT_THROW(RolloutEngine(options(4, 8, 30), 0, p), std::logic_error);
}

}  // namespace
}  // namespace rollcast
