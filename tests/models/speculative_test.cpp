#include "models/speculative.hpp"

#include <gtest/gtest.h>

#include "models/rollout_prices.hpp"
#include "price_fixtures.hpp"

namespace rollcast {
namespace {

EngineOptions engine(int draft_tokens, double acceptance) {
  EngineOptions e;
  e.max_model_len = 8192;
  if (draft_tokens > 0) e.speculative = Speculation{draft_tokens, acceptance};
  return e;
}

Seconds dense(EngineOptions const& e, double tokens) {
  return dense_time(round_profile(), catalog_model("llama-3.1-8b"), e, h100_cluster(1), tokens);
}

// (1 - a^(k+1)) / (1 - a): 1 + 0.8; 1 + 0.5 + 0.25 + 0.125.
TEST(Speculative, AStepYieldsTheAcceptedAndOneMore) {
  EXPECT_DOUBLE_EQ(expected_tokens(std::nullopt), 1);
  EXPECT_DOUBLE_EQ(expected_tokens(Speculation{1, 0.8}), 1.8);
  EXPECT_DOUBLE_EQ(expected_tokens(Speculation{3, 0.5}), 1.875);
  EXPECT_DOUBLE_EQ(expected_tokens(Speculation{3, 0}), 1);
  EXPECT_DOUBLE_EQ(expected_tokens(Speculation{3, 1}), 4);
}

// One sequence, two draft tokens, Llama-3.1-8B on a bandwidth of 0.8 x 3.35 TB/s: the step reads the weights
// once for three tokens, and twice a layer (436 MB), the projection of 8,192 x 4,096 (67 MB) and lm_head
// (1,051 MB).
TEST(Speculative, DecodingReadsTheWeightsOncePerStep) {
  double const bandwidth = 0.8 * 3.35e12;
  double const draft = (2 * 218103808.0 + 2 * 8192.0 * 4096 + 2 * 525336576.0) / bandwidth;
  double const step = dense(engine(0, 0), 3).value + 2 * draft;
  EXPECT_NEAR(dense(engine(2, 0.5), 1).value, step / 1.75, 5e-6);
}

// Nothing accepted is all cost, everything accepted is cheaper the more is drafted while weights are read.
TEST(Speculative, AcceptanceDecides) {
  EXPECT_GT(dense(engine(1, 0), 8), dense(engine(0, 0), 8));
  EXPECT_LT(dense(engine(1, 1), 8), dense(engine(0, 0), 8));
  EXPECT_LT(dense(engine(3, 1), 8), dense(engine(1, 1), 8));
  for (int k = 1; k < 5; ++k) EXPECT_LT(dense(engine(k, 0.9), 8), dense(engine(k, 0.6), 8)) << k;
}

// Tokens beyond max_num_seqs are of prompts: they cost the model and the draft layer, not a verification.
TEST(Speculative, PromptsAreNotVerified) {
  EngineOptions plain = engine(0, 0);
  EngineOptions drafted = engine(3, 0.5);
  plain.max_num_seqs = drafted.max_num_seqs = 64;
  double const model = (dense(plain, 8000) - dense(plain, 4000)).value;
  double const more = (dense(drafted, 8000) - dense(drafted, 4000)).value;
  // One layer of 32 and a projection of 15 % of one: between 1/32 and 1.3/32.
  EXPECT_GT(more, model * (1 + 1.0 / 32));
  EXPECT_LT(more, model * (1 + 1.3 / 32));
}

// K and V are read once for a sequence's queries: a layer of 32 more for the draft, over 1.8 tokens.
TEST(Speculative, AttentionReadsTheCacheOnce) {
  Architecture const a = catalog_model("llama-3.1-8b");
  double const plain = decode_attention_time(round_profile(), a, engine(0, 0), 64, 1000).value;
  EXPECT_NEAR(decode_attention_time(round_profile(), a, engine(1, 0.8), 64, 1000).value,
              plain * (1 + 1.0 / 32) / 1.8, 1e-12);
}

TEST(Speculative, AStepsOverheadIsSharedByItsTokens) {
  Architecture const a = catalog_model("llama-3.1-8b");
  StepPrices const one = rollout_step_prices(round_profile(), a, engine(0, 0), h100_cluster(1));
  StepPrices const two = rollout_step_prices(round_profile(), a, engine(1, 1), h100_cluster(1));
  EXPECT_NEAR(two.fixed.value, one.fixed.value / 2, 1e-15);
  EXPECT_NEAR(two.per_sequence.value, one.per_sequence.value / 2, 1e-15);
  for (double const tokens : {1.0, 17.0, 256.0, 1024.0, 5000.0}) {
    double const exact = dense(engine(1, 1), tokens).value;
    EXPECT_NEAR(two.dense.at(tokens), exact, 0.01 * exact) << tokens;
  }
}

// Weights are read in half as many forwards; 1,000 tokens are 1,000 accepted of 1,000 drafted and verified.
TEST(Speculative, WorkCountsForwards) {
  Architecture const a = catalog_model("llama-3.1-8b");
  RolloutWork const plain = rollout_work(a, engine(0, 0), 1000, 0, 1000);
  RolloutWork const drafted = rollout_work(a, engine(1, 1), 1000, 0, 1000);
  EXPECT_NEAR(drafted.hbm.value / plain.hbm.value, 0.5, 0.001);
  EXPECT_NEAR(drafted.flops.value, plain.flops.value, 1e-6 * plain.flops.value);
}

}  // namespace
}  // namespace rollcast
