#include "models/adapter_kernels.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "price_fixtures.hpp"

namespace rollcast {
namespace {

std::vector<std::string> const kAttention = {"q", "k", "v", "o"};
std::vector<std::string> const kAll = {"q", "k", "v", "o", "gate", "up", "down"};

EngineOptions engine(EngineKind kind, std::string version = "", int tp = 1) {
  EngineOptions e;
  e.kind = kind;
  e.version = std::move(version);
  e.parallel.tp = tp;
  return e;
}

// Targets alone, q, k and v in one kernel.
EngineOptions sglang() { return engine(EngineKind::sglang); }

ServedAdapters variants(std::vector<AdapterVariant> v, bool padded = true) {
  ServedAdapters s;
  s.variants = std::move(v);
  s.padded_ranks = padded;
  return s;
}

AdapterKernels kernels(EngineOptions const& e, ServedAdapters const& s, char const* model = "llama-2-7b") {
  return adapter_kernels(round_profile(), catalog_model(model), e, s);
}

double step_time(AdapterKernels const& k, std::vector<AdapterCounts> const& counts) {
  return adapter_step_time(k, counts).value;
}

// Llama-2-7B, 32 layers, rank 16 on q, k, v, o, each 4096 x 4096, at half of 3.35 TB/s (rows) and 0.57 of it
// (matrices); 64 tokens of 8 adapters. Of each of the four products
//   shrink  64 (2 x 4096 + 4 x 16) = 528,384 B of rows, 8 x 2 x 16 x 4096 = 1,048,576 B of matrices
//   expand  64 (4 x 16 + 4 x 4096) = 1,052,672 B of rows, as much of matrices.
// q, k and v share two kernels and o has two: four times 14.6 us + 8 x 0.145 us a layer.
TEST(AdapterKernels, MoveRowsAndTheMatricesOfDistinctAdapters) {
  double const rows = 4 * (528384.0 + 1052672.0) / (0.5 * 3.35e12);
  double const matrices = 4 * 2 * 1048576.0 / (0.57 * 3.35e12);
  double const kernel = 4 * (14.6e-6 + 8 * 0.145e-6);
  EXPECT_NEAR(step_time(kernels(sglang(), variants({{16, kAttention}})), {{64, 8}}),
              32 * (rows + matrices + kernel), 1e-12);
}

// 4,096 tokens of one adapter of rank 2,048 on q: 2 x 4096 x 4096 x 2048 FLOPs take longer than their bytes.
TEST(AdapterKernels, LargeRanksPayForTheirFlops) {
  double const flops = 2.0 * 4096 * 4096 * 2048 / (0.8 * 989e12);
  EXPECT_NEAR(step_time(kernels(sglang(), variants({{2048, {"q"}}})), {{4096, 1}}),
              32 * 2 * (flops + 14.6e-6 + 0.145e-6), 32 * 2 * 1e-3 * flops);
}

TEST(AdapterKernels, AStepWithoutAdaptersHasNone) {
  AdapterKernels const k = kernels(sglang(), variants({{16, kAttention}}));
  EXPECT_EQ(step_time(k, {{0, 0}}), 0);
  EXPECT_EQ(step_time(kernels(sglang(), variants({{16, {}}})), {{64, 8}}), 0);
  EXPECT_EQ(adapter_split_time(k, 0, 0).value, 0);
}

// Kernels a layer: 7 projections apart, 4 fused; two each.
TEST(AdapterKernels, VllmRunsThemBesideEveryProjection) {
  ServedAdapters const q = variants({{8, {"q"}}});
  EXPECT_EQ(kernels(engine(EngineKind::vllm, "0.6.5"), q).kernels.size(), 14u);
  EXPECT_EQ(kernels(engine(EngineKind::vllm), q).kernels.size(), 8u);
  EXPECT_EQ(kernels(engine(EngineKind::sglang), q).kernels.size(), 2u);
  // A mixture's experts only where an adapter targets them.
  EXPECT_EQ(kernels(engine(EngineKind::vllm), q, "qwen3-30b-a3b").kernels.size(), 4u);
  EXPECT_EQ(kernels(engine(EngineKind::vllm), variants({{8, kAll}}), "qwen3-30b-a3b").kernels.size(), 8u);
}

// 7 x 32 products at 357 us.
TEST(AdapterKernels, LaunchesOfTheirRelease) {
  ServedAdapters const q = variants({{8, {"q"}}});
  EXPECT_NEAR(adapter_host_time(kernels(engine(EngineKind::vllm, "0.6.5"), q)).value, 224 * 357e-6, 1e-9);
  EXPECT_NEAR(adapter_host_time(kernels(engine(EngineKind::vllm, "0.7.3"), q)).value, 128 * 43e-6, 1e-9);
  EXPECT_EQ(adapter_host_time(kernels(engine(EngineKind::vllm), q)).value, 0);
}

// Attention is alike in dense and in sparse layers, whatever their numbers: also where these are the same.
TEST(AdapterKernels, EveryKindOfLayerHasItsOwn) {
  Architecture a = catalog_model("qwen3-30b-a3b");
  std::vector<double> times;
  for (int const dense : {0, 23, 24}) {
    a.moe->first_dense_layers = dense;
    times.push_back(
        step_time(adapter_kernels(round_profile(), a, sglang(), variants({{16, {"q"}}})), {{64, 8}}));
  }
  EXPECT_NEAR(times[1], times[0], 1e-12);
  EXPECT_NEAR(times[2], times[0], 1e-12);
}

TEST(AdapterKernels, GrowWithTokensAdaptersAndRank) {
  for (bool const padded : {true, false}) {
    AdapterKernels const k = kernels(sglang(), variants({{8, kAll}, {64, {"q", "v"}}}, padded));
    double last = 0;
    for (double const tokens : {1.0, 2.0, 16.0, 100.0, 4096.0}) {
      double const one = step_time(k, {{tokens, 1}, {0, 0}});
      EXPECT_GT(one, last);
      last = one;
      if (tokens < 2) continue;
      EXPECT_GT(step_time(k, {{tokens, 2}, {0, 0}}), one);  // distinct above identical
      EXPECT_GT(step_time(k, {{tokens, 1}, {1, 1}}), one);
    }
  }
  double last = 0;
  for (int const rank : {8, 16, 64, 256, 1024}) {
    double const time = step_time(kernels(sglang(), variants({{rank, kAll}})), {{64, 8}});
    EXPECT_GT(time, last);
    last = time;
  }
}

TEST(AdapterKernels, PaddingCostsAtLeastNothing) {
  std::vector<AdapterVariant> const mixed = {{8, kAll}, {64, {"q", "v"}}};
  AdapterKernels const own = kernels(sglang(), variants(mixed, false));
  AdapterKernels const padded = kernels(sglang(), variants(mixed, true));
  EXPECT_GT(step_time(padded, {{32, 4}, {0, 0}}), step_time(own, {{32, 4}, {0, 0}}));
  EXPECT_EQ(step_time(padded, {{0, 0}, {32, 4}}), step_time(own, {{0, 0}, {32, 4}}));
  ServedAdapters limit = variants({{8, kAll}});
  double const plain = step_time(kernels(sglang(), limit), {{32, 4}});
  limit.max_rank = 64;
  EXPECT_GT(step_time(kernels(sglang(), limit), {{32, 4}}), plain);
}

// Rank 16 on q and o at tp 4, 1,000 adapters of a token each: matrices of q are A whole and B cut, of o A cut
// and B whole, 1 + 1/4 factors each; fully sharded 2 x 1/4. A factor of 1,000 adapters: 1000 x 2 x 16 x 4096
// B.
TEST(AdapterKernels, TensorParallelismCutsOneFactorOrBoth) {
  ServedAdapters s = variants({{16, {"q", "o"}}});
  EngineOptions const e = engine(EngineKind::sglang, "", 4);
  double const factor = 1000 * 2.0 * 16 * 4096 / (0.57 * 3.35e12);
  double const one = step_time(kernels(e, s), {{1000, 1000}}) - step_time(kernels(e, s), {{1000, 1}});
  double const segments = 32 * 4 * 999 * 0.145e-6;
  EXPECT_NEAR(one, 32 * 2.5 * factor * 0.999 + segments, 1e-9);
  s.fully_sharded = true;
  double const both = step_time(kernels(e, s), {{1000, 1000}}) - step_time(kernels(e, s), {{1000, 1}});
  EXPECT_NEAR(both, 32 * 1.0 * factor * 0.999 + segments, 1e-9);
  // Two exchanges a layer.
  EXPECT_NEAR(kernels(e, s).exchanges, 64, 0);
}

// Two plain products beside each of four targets: 8 x 14.6 us a layer, and what one adapter moves. Fewer
// tokens an adapter cost nearly as much: splitting 64 tokens over 50 adapters loses to one batch.
TEST(AdapterKernels, SplittingPaysForEachAdapter) {
  AdapterKernels const k = kernels(sglang(), variants({{16, kAttention}}));
  double const bytes_moved = 4 * (2.0 * 4096 + 4 * 16 + 4 * 16 + 4 * 4096) / (0.5 * 3.35e12) +
                             4 * 2 * 2.0 * 16 * 4096 / (0.57 * 3.35e12);
  EXPECT_NEAR(adapter_split_time(k, 0, 1).value, 32 * (8 * 14.6e-6 + bytes_moved), 1e-12);
  EXPECT_GT(50 * adapter_split_time(k, 0, 1.28).value, 10 * step_time(k, {{64, 50}}));
}

// Punica (Chen et al. 2023), figure 9, A100: one product of 4096 x 4096 in two kernels, 64 requests with an
// adapter each. Their launches are outside a graph, ours are in one: a quarter at most is missing, the growth
// with rank is theirs.
TEST(AdapterKernels, AgreeWithPunica) {
  Profile p = round_profile();
  p.gpu = *find_gpu(builtin_catalog(), "a100-sxm-80gb");
  double const published[] = {72e-6, 75e-6, 89e-6, 118e-6};
  double first = 0;
  for (int i = 0; i < 4; ++i) {
    auto const k = adapter_kernels(p, catalog_model("llama-2-7b"), sglang(), variants({{8 << i, {"q"}}}));
    double const time = step_time(k, {{64, 64}}) / 32;
    EXPECT_LT(time, published[i]);
    EXPECT_GT(time, 0.75 * published[i]);
    if (i == 0) first = time;
    EXPECT_NEAR(time - first, published[i] - published[0], 6e-6);
  }
}

// Llama-2-70B on four ranks, q and o alone (8192 x 8192 each, a quarter here): 80 x 2 x 8192 x 8192 / 4
// elements, of each 4 B of product, 8 of scaling, 4 to add or 8 to take off and 4 of the weight, at half
// of 3.35 TB/s.
TEST(MergeTime, WritesTheProductAndPassesOverTheWeights) {
  EngineOptions const e = engine(EngineKind::vllm, "", 4);
  double const elements = 80 * 2 * 8192.0 * 8192 / 4;
  EXPECT_NEAR(merge_time(round_profile(), catalog_model("llama-2-70b"), e, {16, {"q", "o"}}).value,
              elements * (4 + 8 + 6 + 4) / (0.5 * 3.35e12), 1e-9);
  // Few weights: three operations a target at 4 x 5 us.
  EXPECT_NEAR(
      merge_time(round_profile(), catalog_model("llama-3.1-8b"), engine(EngineKind::vllm, "", 8), {16, {"k"}})
          .value,
      32 * 3 * 20e-6, 1e-9);
}

}  // namespace
}  // namespace rollcast
