// Large engines: tensor parallelism over nodes, and attention of the tokens of each rank with experts of all.
#include "models/engine_dense.hpp"

#include <gtest/gtest.h>

#include "models/engine_memory.hpp"
#include "models/rollout_prices.hpp"
#include "price_fixtures.hpp"

namespace rollcast {
namespace {

EngineOptions engine(int tp, int ep, bool data_parallel) {
  EngineOptions e;
  e.parallel.tp = tp;
  e.parallel.ep = ep;
  e.data_parallel_attention = data_parallel;
  e.max_model_len = 4096;
  return e;
}

Seconds dense(Architecture const& a, EngineOptions const& e, int nodes, double tokens) {
  return dense_time(round_profile(), a, e, h100_cluster(nodes), tokens);
}

// 32 ranks on four nodes: two all-reduces in each of 61 layers cross the network, 64 tokens x 7,168 x 2 B
// each.
TEST(EngineDense, TensorParallelismOverNodesPaysTheNetwork) {
  Architecture const a = catalog_model("deepseek-v3");
  Profile const p = round_profile();
  CollectivePrices collectives(p, h100_cluster(4));
  Seconds const reduction =
      collectives.engine_all_reduce(EngineKind::vllm, 32, bytes(64.0 * 7168 * 2), true).total();
  EXPECT_EQ(placed_group(h100_cluster(4), 32, 1).nodes, 4);
  EngineProducts const products = engine_products(p, a, engine(32, 1, false));
  double alone = 0;
  for (EngineProducts::Layer const& l : products.layers) {
    CollectivePrices none(p, h100_cluster(4));
    EngineOptions single = engine(32, 1, false);
    Seconds const with = layer_time(l, products.layout, p, a, single, none, 64);
    alone += (with - 2 * reduction).value * l.count;
  }
  EXPECT_GT(alone, 0);
  double const head = head_time(products, p, engine(32, 1, false), 64).value;
  EXPECT_NEAR(dense(a, engine(32, 1, false), 4, 64).value, alone + 122 * reduction.value + head, 1e-9);
}

TEST(EngineDense, RanksWithSequencesOfTheirOwnHaveWholeAttention) {
  EngineLayout const l = engine_layout(engine(8, 8, true));
  EXPECT_EQ(l.groups, 8);
  EXPECT_EQ(l.own.tp, 1);
  EXPECT_EQ(l.experts.ep, 8);
  EXPECT_EQ(engine_layout(engine(8, 8, false)).groups, 1);
}

// A dense model without expert layers exchanges nothing: 8 ranks of 64 tokens each take what one engine of tp
// 1 takes for 64.
TEST(EngineDense, WithoutExpertsEachRankIsAnEngine) {
  Architecture const a = catalog_model("llama-3.1-8b");
  EXPECT_NEAR(dense(a, engine(8, 1, true), 1, 512).value, dense(a, engine(1, 1, false), 1, 64).value, 1e-12);
  EXPECT_NEAR(decode_attention_time(round_profile(), a, engine(8, 1, true), 512, 1000).value,
              decode_attention_time(round_profile(), a, engine(1, 1, false), 64, 1000).value, 1e-12);
  EngineOptions eight = engine(8, 1, true);
  EngineOptions one = engine(1, 1, false);
  EXPECT_NEAR(engine_weights(a, eight).value, engine_weights(a, one).value, 1);
  EXPECT_NEAR(kv_bytes_per_token(a, eight).value, kv_bytes_per_token(a, one).value / 8, 1e-6);
  RolloutWork const w8 = rollout_work(a, eight, 8000, 8e6, 10);
  RolloutWork const w1 = rollout_work(a, one, 1000, 1e6, 10);
  EXPECT_NEAR(w8.flops.value, w1.flops.value, 1e-9 * w1.flops.value);
  EXPECT_NEAR(w8.hbm.value, w1.hbm.value, 1e-9 * w1.hbm.value);
}

// What a layer of experts adds is their exchange: without a table an all-to-all of tokens x top_k x hidden,
// twice.
TEST(EngineDense, TokensTravelToWholeExperts) {
  Architecture const a = catalog_model("qwen3-30b-a3b");
  Profile const p = round_profile();
  EngineOptions const e = engine(8, 8, true);
  EngineProducts const products = engine_products(p, a, e);
  CollectivePrices collectives(p, h100_cluster(1));
  Seconds const exchange =
      collectives.at(CollectiveKind::all_to_all, {8, 1, 1}, bytes(64.0 * 8 * 2048 * 2)).total() * 2;
  Seconds const layer = layer_time(products.layers[0], products.layout, p, a, e, collectives, 512);
  // 16 whole experts of 3 x 2,048 x 768 are read; attention of 64 tokens is not cut.
  double const experts = 16 * 3.0 * 2048 * 768 * 2 / (0.8 * 3.35e12);
  EXPECT_GT(layer.value, experts + exchange.value);
  EXPECT_LT(layer.value, experts + exchange.value + 60e-6);
}

// Slices of experts work on all tokens: gathered before, scattered after. Both read 1/8 of the experts'
// weights and compute as much; with a token a rank the activations are small and they differ by the way of
// the tokens.
TEST(EngineDense, TokensAreGatheredForSlicesOfExperts) {
  Architecture const a = catalog_model("qwen3-30b-a3b");
  Profile const p = round_profile();
  CollectivePrices collectives(p, h100_cluster(1));
  Bytes const hidden = bytes(8.0 * 2048 * 2);
  Seconds const gathered = collectives.at(CollectiveKind::all_gather, {8, 1, 1}, hidden).total() +
                           collectives.at(CollectiveKind::reduce_scatter, {8, 1, 1}, hidden).total();
  Seconds const exchange =
      collectives.at(CollectiveKind::all_to_all, {8, 1, 1}, bytes(8.0 * 2048 * 2)).total() * 2;
  double const sliced = dense(a, engine(8, 1, true), 1, 8).value;
  double const whole = dense(a, engine(8, 8, true), 1, 8).value;
  EXPECT_NEAR(sliced - whole, 48 * (gathered - exchange).value, 48 * 1.5e-6);
  // With many tokens a rank, each slice moves the activations of all of them.
  EXPECT_GT(dense(a, engine(8, 1, true), 1, 4096), dense(a, engine(8, 8, true), 1, 4096));
}

// DeepSeek-V3 in fp8 on eight H100 does not fit; in 32 of them experts are 1/32 each, the rest is on every
// rank.
TEST(EngineDense, ExpertsAreSpreadInMemory) {
  Architecture const a = catalog_model("deepseek-v3");
  double const routed = static_cast<double>(count_parameters(a).experts);
  double const rest = static_cast<double>(count_parameters(a).total) - routed;
  EXPECT_NEAR(engine_weights(a, engine(32, 32, true)).value, 2 * (routed / 32 + rest), 1e6);
  EXPECT_LT(engine_weights(a, engine(32, 32, false)), engine_weights(a, engine(32, 32, true)));
}

TEST(EngineDense, TimeNeverFallsInTokens) {
  Architecture const a = catalog_model("qwen3-30b-a3b");
  for (int const ep : {1, 8}) {
    for (bool const data_parallel : {false, true}) {
      double last = 0;
      for (int tokens = 1; tokens <= 8192; tokens += 1 + tokens / 8) {
        double const time = dense(a, engine(8, ep, data_parallel), 1, tokens).value;
        EXPECT_GE(time, last) << ep << ' ' << data_parallel << ' ' << tokens;
        last = time;
      }
    }
  }
}

// Qwen3-0.6B beyond 512 tokens: 28 layers x 14 launches of 5 us at least.
TEST(EngineDense, StepsBeyondTheGraphsPayTheirLaunches) {
  Architecture const a = catalog_model("qwen3-0.6b");
  EngineOptions const e = engine(1, 1, false);
  EXPECT_LT(dense(a, e, 1, 512).value, 28 * 14 * 5e-6);
  EXPECT_GE(dense(a, e, 1, 513).value, 28 * 14 * 5e-6);
}

}  // namespace
}  // namespace rollcast
