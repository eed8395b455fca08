#include "models/rollout_prices.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "price_fixtures.hpp"

namespace rollcast {
namespace {

// See training_test.cpp.
constexpr double kLayerWeights = 218103808;
constexpr double kHeadWeights = 525336576;
constexpr double kBandwidth = 3.35e12;

EngineOptions engine(int tp) {
  EngineOptions e;
  e.async_scheduling = true;
  e.parallel.tp = tp;
  e.max_model_len = 8192;
  return e;
}

TEST(RolloutPrices, DecodeAtBatchOneReadsTheWeights) {
  EngineOptions const e = engine(1);
  Architecture const a = catalog_model("llama-3.1-8b");
  StepPrices const prices = rollout_step_prices(round_profile(), a, e, h100_cluster(1));
  // Elements of x and y of the products of a layer: q, k, v in one 4096 + 6144, o 8192, gate and up in one
  // 4096 + 28,672, down 18,432.
  double const activations = 32 * 69632.0 + 4096 + 128256;
  double const products = 2 * (32 * kLayerWeights + kHeadWeights + activations) / (0.8 * kBandwidth);
  double const passes = 32 * 188416.0 / (0.5 * kBandwidth);
  EXPECT_NEAR(prices.dense.at(1), products + passes, 1e-12);
  // 15.01 GB at 2.68 TB/s: 5.6 ms, and 1 ms and 10 us of the engine.
  double const step = prices.fixed.value + prices.per_sequence.value + prices.dense.at(1);
  EXPECT_NEAR(step, 5.6e-3 + 1.01e-3, 0.01e-3);
}

TEST(RolloutPrices, LargePrefillIsBoundByTheMatrixRate) {
  Architecture const a = catalog_model("llama-3.1-8b");
  EngineOptions e = engine(1);
  e.max_num_seqs = 256;
  StepPrices const prices = rollout_step_prices(round_profile(), a, e, h100_cluster(1));
  // 8,192 tokens; lm_head only for the at most 256 sampled positions, there bound by reading its weights.
  double const products = 2 * 8192.0 * 32 * kLayerWeights / (0.8 * 989e12);
  double const passes = 8192 * 32 * 188416.0 / (0.5 * kBandwidth);
  double const head = 2 * (kHeadWeights + 256 * (4096.0 + 128256)) / (0.8 * kBandwidth);
  EXPECT_NEAR(prices.dense.at(8192), products + passes + head, 1e-9);
  // 32 layers x 4 x 32 x 128 FLOPs a pair over 0.5 x 989e12.
  EXPECT_NEAR(prices.prefill.at(1e6), 1e6 * 32 * 16384 / (0.5 * 989e12), 1e-12);
}

TEST(RolloutPrices, CurveIsWithinOnePercentOfTheFormula) {
  for (char const* name :
       {"llama-3.1-8b", "llama-3.1-70b", "qwen3-30b-a3b", "qwen3.5-35b-a3b", "deepseek-v3", "qwen2.5-0.5b"}) {
    Architecture const a = catalog_model(name);
    for (int const tp : {1, 8}) {
      for (bool const graphs : {true, false}) {
        EngineOptions e = engine(tp);
        e.cuda_graphs = graphs;
        StepPrices const prices = rollout_step_prices(round_profile(), a, e, h100_cluster(1));
        EXPECT_LT(prices.dense.x.size(), 120U);
        double last = 0;
        for (int tokens = 1; tokens <= e.max_num_batched_tokens; tokens += 1 + tokens / 200) {
          double const exact = dense_time(round_profile(), a, e, h100_cluster(1), tokens).value;
          EXPECT_NEAR(prices.dense.at(tokens), exact, 0.01 * exact) << name << " tp " << tp << ' ' << tokens;
          EXPECT_GE(exact, last) << name << ' ' << tokens;
          last = exact;
        }
      }
    }
  }
}

TEST(RolloutPrices, DecodeAttentionReadsTheKvCache) {
  Architecture const a = catalog_model("llama-3.1-8b");
  EngineOptions e = engine(1);
  StepPrices prices = rollout_step_prices(round_profile(), a, e, h100_cluster(1));
  // 131,072 B a token; 128 sequences of 1,000.
  double const expected = 131072.0 * 128 * 1000 / (0.7 * kBandwidth);
  EXPECT_NEAR(decode_curve(prices, 128).at(1000), expected, 1e-12);
  e.kv_cache = DType::fp8;
  EXPECT_NEAR(decode_attention_time(round_profile(), a, e, 128, 1000).value, expected / 2, 1e-12);
  // Eight kv heads: tp 8 reads an eighth, tp 16 no less.
  e.kv_cache = DType::bf16;
  e.parallel.tp = 8;
  EXPECT_NEAR(decode_attention_time(round_profile(), a, e, 128, 1000).value, expected / 8, 1e-12);
  e.parallel.tp = 16;
  EXPECT_NEAR(decode_attention_time(round_profile(), a, e, 128, 1000).value, expected / 8, 1e-12);
}

TEST(RolloutPrices, DecodeTablesAreExactForEveryKindOfAttention) {
  for (char const* name : {"llama-3.1-8b", "deepseek-v3", "qwen3.5-9b"}) {
    Architecture const a = catalog_model(name);
    EngineOptions const e = engine(8);
    StepPrices const prices = rollout_step_prices(round_profile(), a, e, h100_cluster(1));
    for (double const batch : {1.0, 3.0, 100.0, 1024.0}) {
      for (double const context : {1.0, 777.0, 9000.0}) {
        double const exact = decode_attention_time(round_profile(), a, e, batch, context).value;
        EXPECT_NEAR(decode_curve(prices, batch).at(context), exact, 1e-9 * exact) << name;
      }
    }
  }
}

TEST(RolloutPrices, LatentAttentionKeepsItsCacheOnEveryRank) {
  Architecture const a = catalog_model("deepseek-v3");
  // 61 layers x (512 + 64) x 2 B; FLOPs of 128 heads: 2 x 128 x (2 x 512 + 64) = 278,528. tp 1 computes
  // longer than it reads: 278,528 / 494.5e12 = 0.563 ns against 1152 / 2.345e12 = 0.491 ns; with tp 8 it
  // reads.
  EXPECT_NEAR(decode_attention_time(round_profile(), a, engine(1), 1, 1000).value,
              61 * 1000 * 278528.0 / 494.5e12, 1e-9);
  EXPECT_NEAR(decode_attention_time(round_profile(), a, engine(8), 1, 1000).value,
              61 * 1000 * 1152.0 / (0.7 * kBandwidth), 1e-9);
}

TEST(RolloutPrices, MixturesReadTheExpertsTheyTouch) {
  Architecture const a = catalog_model("qwen3-30b-a3b");
  EngineOptions const e = engine(1);
  // 128 experts of 3 x 2048 x 768 in 48 layers, 8 per token: one token reads 8, many read all 128.
  double const expert = 3.0 * 2048 * 768 * 2 * 48 / (0.8 * kBandwidth);
  auto const dense = [&](double tokens) {
    return dense_time(round_profile(), a, e, h100_cluster(1), tokens).value;
  };
  double const distinct2 = 128 * (1 - std::pow(1 - 1.0 / 16, 2));
  // Besides the experts a second token adds its activations and passes alone: microseconds.
  EXPECT_NEAR(dense(2) - dense(1), (distinct2 - 8) * expert, 40e-6);
  EXPECT_GT(dense(2) - dense(1), (distinct2 - 8) * expert);
  EXPECT_GT(dense(512), 127 * expert);
}

TEST(RolloutPrices, WholeExpertsAndCutExpertsDoTheSameWork) {
  Architecture const a = catalog_model("qwen3-30b-a3b");
  EngineOptions cut = engine(8);
  EngineOptions whole = engine(8);
  whole.parallel.ep = 8;
  RolloutWork const c = rollout_work(a, cut, 4096, 0, 1);
  RolloutWork const w = rollout_work(a, whole, 4096, 0, 1);
  EXPECT_NEAR(c.flops.value, w.flops.value, 1e-9 * c.flops.value);
  EXPECT_NEAR(c.hbm.value, w.hbm.value, 1e-9 * c.hbm.value);
}

TEST(RolloutPrices, TensorParallelismPaysSmallAllReducesInTheGraph) {
  Architecture const a = catalog_model("llama-3.1-8b");
  EngineOptions e = engine(8);
  double const graph = dense_time(round_profile(), a, e, h100_cluster(1), 1).value;
  e.kind = EngineKind::hf;
  double const nccl = dense_time(round_profile(), a, e, h100_cluster(1), 1).value;
  // q, k and v, gate and up read their 4096 inputs three times more when each runs alone.
  double const inputs = 32 * 3 * 4096 * 2 / (0.8 * kBandwidth);
  EXPECT_NEAR(nccl - graph, 64 * (15e-6 - 4e-6) + inputs, 1e-9);
}

TEST(RolloutPrices, QuantizedWeightsHalveTheReadButForTheHead) {
  Architecture const a = catalog_model("llama-3.1-8b");
  EngineOptions e = engine(1);
  double const bf16 = dense_time(round_profile(), a, e, h100_cluster(1), 1).value;
  e.weights = DType::fp8;
  double const fp8 = dense_time(round_profile(), a, e, h100_cluster(1), 1).value;
  // One byte an element of weights, x and y less in the layers; lm_head stays in bf16.
  EXPECT_NEAR(bf16 - fp8, 32 * (kLayerWeights + 69632) / (0.8 * kBandwidth), 1e-9);
}

TEST(RolloutPrices, WithoutGraphsSmallModelsWaitForLaunches) {
  Architecture const a = catalog_model("qwen2.5-0.5b");
  EngineOptions e = engine(1);
  e.cuda_graphs = false;
  EXPECT_GT(dense_time(round_profile(), a, e, h100_cluster(1), 1).value, 24 * 14 * 5e-6);
}

// The fixture's engine: 1 ms a step, 10 us a sequence when scheduling is overlapped and 20 us when it is not;
// log-probabilities add 0.1 ms and 30 us.
TEST(RolloutPrices, SchedulingBetweenStepsAndLogProbabilitiesCostTime) {
  auto const prices = [](bool async, bool logprobs) {
    EngineOptions e = engine(1);
    e.async_scheduling = async;
    e.logprobs = logprobs;
    return rollout_step_prices(round_profile(), catalog_model("llama-3.1-8b"), e, h100_cluster(1));
  };
  EXPECT_DOUBLE_EQ(prices(true, false).fixed.value, 1e-3);
  EXPECT_DOUBLE_EQ(prices(true, false).per_sequence.value, 1e-5);
  EXPECT_DOUBLE_EQ(prices(false, false).per_sequence.value, 2e-5);
  EXPECT_DOUBLE_EQ(prices(false, true).fixed.value, 1.1e-3);
  EXPECT_DOUBLE_EQ(prices(false, true).per_sequence.value, 5e-5);
}

// The fixture: 20 us to schedule a sequence, 30 us for its log-probability, 10 us for its text.
TEST(RolloutPrices, TheEngineWaitsForItsFrontEndWhereThatIsNotAProcessBesideIt) {
  auto const per_sequence = [](FrontEnd f) {
    EngineOptions e = engine(1);
    e.async_scheduling = false;
    e.front_end = f;
    e.logprobs = true;
    return rollout_step_prices(round_profile(), catalog_model("llama-3.1-8b"), e, h100_cluster(1))
        .per_sequence.value;
  };
  EXPECT_DOUBLE_EQ(per_sequence(FrontEnd::apart), 2e-5);
  EXPECT_DOUBLE_EQ(per_sequence(FrontEnd::server), 5e-5);
  EXPECT_DOUBLE_EQ(per_sequence(FrontEnd::in_process), 6e-5);
}

TEST(RolloutWork, CountsFlopsAndBytes) {
  Architecture const a = catalog_model("llama-3.1-8b");
  // 10 steps of 100 sequences with 1,000 tokens of context each.
  RolloutWork const w = rollout_work(a, engine(1), 1000, 1e6, 10);
  EXPECT_NEAR(w.flops.value, 2 * 1000 * (32 * kLayerWeights + kHeadWeights) + 1e6 * 32 * 16384, 1e3);
  EXPECT_NEAR(w.hbm.value, 10 * 2 * (32 * kLayerWeights + kHeadWeights) + 131072.0 * (1e6 + 1000), 1e3);
  EXPECT_LE(rollout_work(a, engine(1), 0, 0, 0).hbm, Bytes(0));
}

TEST(RolloutPrices, WithoutTheEnginesOwnAllReduceThereIsNccls) {
  Architecture const a = catalog_model("llama-3.1-8b");
  EngineOptions e = engine(8);
  Profile const p = round_profile();
  double const own = rollout_step_prices(p, a, e, h100_cluster(1)).dense.at(1);
  e.custom_all_reduce = false;
  double const nccl = rollout_step_prices(p, a, e, h100_cluster(1)).dense.at(1);
  // 32 layers with two all-reduces of 8 KiB; only the start-up differs here, 15 us for 4 us.
  EXPECT_NEAR(nccl - own, 64 * (15e-6 - 4e-6), 1e-9);
}

}  // namespace
}  // namespace rollcast
