#include "models/environment.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "models/rollout_engine.hpp"

namespace rollcast {
namespace {

RandomKey sample_key(std::uint64_t index) { return {5, Purpose::jitter, 2, index}; }

TurnModel three_turns() {
  return {{FixedLength{3}}, Lengths{FixedLength{200}}, {FixedTime{seconds(1.5)}, {}}, true};
}

TEST(Environment, ByHandWithKvKept) {
  // 100 prompt tokens, 1000 response tokens in 334 + 333 + 333. Contexts: 100; 100 + 334 + 200 = 634;
  // 634 + 333 + 200 = 1167. With KV kept, 433 of the 634 and 966 of the 1167 tokens are there.
  auto const turns = turns_of_sample(three_turns(), 100, 1000, sample_key(0));
  ASSERT_EQ(turns.size(), 3U);
  EXPECT_EQ(turns[0].context_tokens, 100);
  EXPECT_EQ(turns[0].prefill_tokens(), 100);
  EXPECT_EQ(turns[0].generate_tokens, 334);
  EXPECT_EQ(turns[0].pause.value, 1.5);
  EXPECT_EQ(turns[1].context_tokens, 634);
  EXPECT_EQ(turns[1].cached_tokens, 433);
  EXPECT_EQ(turns[1].prefill_tokens(), 201);  // the last generated token and the observation
  EXPECT_EQ(turns[1].generate_tokens, 333);
  EXPECT_EQ(turns[2].context_tokens, 1167);
  EXPECT_EQ(turns[2].cached_tokens, 966);
  EXPECT_EQ(turns[2].generate_tokens, 333);
  EXPECT_EQ(turns[2].pause.value, 0);
  EXPECT_EQ(sequence_tokens(turns), 1500);  // 100 + 1000 + 2 x 200
  EXPECT_EQ(total_pause(turns).value, 3.0);
  EXPECT_EQ(longest_sequence(three_turns(), 100, 1000), 1500);
}

TEST(Environment, FreedKvIsPrefilledAgain) {
  TurnModel m = three_turns();
  m.keep_kv = false;
  for (Turn const& t : turns_of_sample(m, 100, 1000, sample_key(0)))
    EXPECT_EQ(t.prefill_tokens(), t.context_tokens);
}

TEST(Environment, OneTurnIsAPlainSample) {
  TurnModel m = three_turns();
  m.turns = {FixedLength{1}};
  auto const turns = turns_of_sample(m, 100, 7, sample_key(9));
  ASSERT_EQ(turns.size(), 1U);
  EXPECT_EQ(turns[0].prefill_tokens(), 100);
  EXPECT_EQ(turns[0].generate_tokens, 7);
  EXPECT_EQ(turns[0].pause.value, 0);
  EXPECT_EQ(longest_sequence(m, 100, 7), 107);
}

TEST(Environment, NoMoreTurnsThanTokens) {
  auto const turns = turns_of_sample(three_turns(), 10, 2, sample_key(0));
  ASSERT_EQ(turns.size(), 2U);
  EXPECT_EQ(turns[0].generate_tokens, 1);
  EXPECT_EQ(turns[1].generate_tokens, 1);
}

TEST(Environment, TokensAreConserved) {
  TurnModel m;
  m.turns = {fit_lognormal(4, 9, 0).lengths, 0, 20};
  m.observation_tokens = Lengths{fit_lognormal(150, 400, 0).lengths, 0, 2000};
  m.tool = fit_lognormal_time(seconds(1), seconds(3), seconds(30)).times;
  int const bound = longest_sequence(m, 512, 4000);
  EXPECT_EQ(bound, 512 + 4000 + 19 * 2000);
  for (std::uint64_t i = 0; i < 2000; ++i) {
    m.keep_kv = i % 2 == 0;
    auto const words = random_words(sample_key(i));
    int const prompt = 1 + static_cast<int>(words[0] % 512);
    int const response = 1 + static_cast<int>(words[1] % 4000);
    auto const turns = turns_of_sample(m, prompt, response, sample_key(i));
    ASSERT_FALSE(turns.empty());
    EXPECT_LE(turns.size(), 20U);
    int generated = 0;
    int observed = 0;
    int prefilled = 0;
    int kept = 0;
    int context = prompt;
    for (std::size_t k = 0; k < turns.size(); ++k) {
      if (k > 0) {
        int const observation = turns[k].context_tokens - context;
        EXPECT_GE(observation, 1);
        observed += observation;
      } else {
        EXPECT_EQ(turns[k].context_tokens, prompt);
      }
      EXPECT_GE(turns[k].generate_tokens, 1);
      EXPECT_LE(turns[0].generate_tokens - turns[k].generate_tokens, 1);
      EXPECT_GE(turns[k].prefill_tokens(), 1);
      EXPECT_EQ(k + 1 < turns.size(), turns[k].pause > Seconds{});
      generated += turns[k].generate_tokens;
      prefilled += turns[k].prefill_tokens();
      kept += turns[k].cached_tokens;
      context = turns[k].context_tokens + turns[k].generate_tokens;
    }
    EXPECT_EQ(generated, response);
    EXPECT_EQ(sequence_tokens(turns), prompt + response + observed);
    EXPECT_LE(sequence_tokens(turns), bound);
    // Kept: each token is prefilled or generated once, and the last token of a turn, whose KV was not
    // written, is prefilled by the next one.
    int const pauses = static_cast<int>(turns.size()) - 1;
    if (m.keep_kv) {
      EXPECT_EQ(prefilled + generated, sequence_tokens(turns) + pauses);
    } else {
      EXPECT_EQ(kept, 0);
    }
  }
}

TEST(Environment, DrawsAreKeyedBySample) {
  TurnModel m = three_turns();
  m.turns = {fit_lognormal(4, 9, 0).lengths, 0, 20};
  m.observation_tokens = Lengths{fit_lognormal(150, 400, 0).lengths};
  m.tool = fit_lognormal_time(seconds(1), seconds(3), {}).times;
  auto const a = turns_of_sample(m, 100, 1000, sample_key(3));
  RandomKey other = sample_key(3);
  other.purpose = Purpose::fault;  // not looked at
  auto const b = turns_of_sample(m, 100, 1000, other);
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t k = 0; k < a.size(); ++k) {
    EXPECT_EQ(a[k].context_tokens, b[k].context_tokens);
    EXPECT_EQ(a[k].pause.value, b[k].pause.value);
  }
  // Pauses and observations differ from turn to turn.
  ASSERT_GE(a.size(), 3U);
  EXPECT_NE(a[0].pause.value, a[1].pause.value);
  // How long the tools take does not change what they answer.
  m.tool = {FixedTime{seconds(1)}, {}};
  auto const c = turns_of_sample(m, 100, 1000, sample_key(3));
  ASSERT_EQ(a.size(), c.size());
  EXPECT_EQ(sequence_tokens(a), sequence_tokens(c));
}

TEST(Environment, UnboundedAndBroken) {
  TurnModel m = three_turns();
  EXPECT_EQ(longest_sequence(m, 0, 1000), 0);
  m.observation_tokens = Lengths{fit_lognormal(150, 400, 0).lengths};
  EXPECT_EQ(longest_sequence(m, 100, 1000), 0);
  m.observation_tokens.reset();
  EXPECT_EQ(longest_sequence(m, 100, 1000), 1100);
  EXPECT_EQ(turns_of_sample(m, 100, 1000, sample_key(0))[1].prefill_tokens(), 1);
  EXPECT_THROW(turns_of_sample(m, 0, 10, sample_key(0)), std::logic_error);
  EXPECT_THROW(turns_of_sample(m, 10, 0, sample_key(0)), std::logic_error);
  EXPECT_THROW(turns_of_sample(m, 10, 10, sample_key(std::uint64_t{1} << 48)), std::logic_error);
}

// An engine whose steps take one second, driven turn by turn with freed KV; returns when each sample ended.
std::vector<Seconds> drive(RolloutEngine& engine, std::vector<std::vector<Turn>> const& samples) {
  auto const submit = [&](std::size_t sample, std::size_t turn, Seconds at) {
    Turn const& t = samples[sample][turn];
    engine.submit({static_cast<std::int64_t>(sample), -1, t.context_tokens, t.generate_tokens}, at);
  };
  std::vector<std::size_t> turn(samples.size());
  std::vector<Seconds> ended(samples.size());
  for (std::size_t i = 0; i < samples.size(); ++i) submit(i, 0, {});
  for (std::vector<Completion> out;;) {
    out.clear();
    engine.advance_to_completion(out);
    if (out.empty()) return ended;
    for (Completion const& c : out) {
      auto const i = static_cast<std::size_t>(c.id);
      ended[i] = c.time;
      Seconds const pause = samples[i][turn[i]].pause;
      if (++turn[i] < samples[i].size()) submit(i, turn[i], c.time + pause);
    }
  }
}

EngineOptions engine_options() {
  EngineOptions o;
  o.max_num_batched_tokens = 1'000'000;
  o.prefix_caching = false;
  return o;
}

TEST(Environment, DrivesAnEngineTurnByTurn) {
  StepPrices prices;
  prices.fixed = seconds(1);
  TurnModel const m{{FixedLength{2}}, Lengths{FixedLength{5}}, {FixedTime{seconds(3)}, {}}, false};
  // 10 prompt tokens, 2 + 2 generated. The prefill yields the first token: turn 1 ends at 2 s, the tool at
  // 5 s; turn 2 has a context of 17 tokens and ends at 7 s.
  RolloutEngine engine(engine_options(), 100'000, prices);
  std::vector<Seconds> const ended = drive(engine, {turns_of_sample(m, 10, 4, sample_key(0))});
  EXPECT_EQ(ended[0].value, 7.0);
  EXPECT_EQ(engine.counters().prefill_tokens, 27);
  EXPECT_EQ(engine.counters().generated_tokens, 4);
  EXPECT_EQ(engine.counters().busy.value, 4.0);
}

TEST(Environment, AnEngineGeneratesEachTokenOnce) {
  StepPrices prices;
  prices.fixed = seconds(0.01);
  TurnModel m;
  m.turns = {fit_lognormal(4, 9, 0).lengths, 0, 20};
  m.observation_tokens = Lengths{fit_lognormal(150, 400, 0).lengths, 0, 2000};
  m.tool = fit_lognormal_time(seconds(1), seconds(3), {}).times;
  m.keep_kv = false;
  std::vector<std::vector<Turn>> samples;
  std::int64_t generated = 0;
  std::int64_t prefilled = 0;
  for (std::uint64_t i = 0; i < 200; ++i) {
    int const response = 1 + static_cast<int>(random_bits(sample_key(i)) % 900);
    samples.push_back(turns_of_sample(m, 100, response, sample_key(i)));
    generated += response;
    for (Turn const& t : samples.back()) prefilled += t.prefill_tokens();
  }
  RolloutEngine engine(engine_options(), 1'000'000, prices);
  std::vector<Seconds> const ended = drive(engine, samples);
  EXPECT_EQ(engine.counters().generated_tokens, generated);
  EXPECT_EQ(engine.counters().prefill_tokens, prefilled);
  EXPECT_EQ(engine.counters().preemptions, 0);
  for (std::size_t i = 0; i < samples.size(); ++i) EXPECT_GT(ended[i], total_pause(samples[i]));
}

}  // namespace
}  // namespace rollcast
