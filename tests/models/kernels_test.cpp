// Prices of layers from measured tables: small tables whose values are chosen, so that every price can be
// worked out by hand.
#include "models/kernels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "models/layer_prices.hpp"
#include "models/rollout_prices.hpp"
#include "models/stage_prices.hpp"
#include "price_fixtures.hpp"

namespace rollcast {
namespace {

// Every product takes twice its roofline.
GemmTable twice_the_roofline(GemmKind kind) {
  GemmTable t;
  t.kind = kind;
  t.m = t.n = t.k = {1, 1048576};
  t.log_ratio.assign(8, std::log(2.0));
  return t;
}

// Every attention takes 1 us and three times its roofline.
AttentionTable three_rooflines(AttentionKind kind) {
  AttentionTable t;
  t.kind = kind;
  t.shortest = seconds(1e-6);
  t.batch = {1, 4096};
  t.length = {1, 131072};
  t.shapes = {{32, 8, 128}};
  for (double const b : t.batch) {
    for (double const l : t.length) {
      double const roof = attention_roofline(round_profile().gpu, t, t.shapes[0], b, l).value;
      t.log_ratio.push_back(std::log((1e-6 + 3 * roof) / (1e-6 + roof)));
    }
  }
  return t;
}

KernelTables tables_of(std::vector<GemmTable> gemm, std::vector<AttentionTable> attention) {
  KernelTables t;
  t.gemm = std::move(gemm);
  t.attention = std::move(attention);
  return t;
}

Profile with(KernelTables tables) {
  Profile p = round_profile();
  p.kernels = std::make_shared<Kernels const>(std::move(tables), p.gpu);
  return p;
}

TEST(Kernels, APriceThatIsNotMeasuredIsNone) {
  Kernels const k(tables_of({twice_the_roofline(GemmKind::bf16)}, {three_rooflines(AttentionKind::decode)}),
                  round_profile().gpu);
  EXPECT_NE(k.gemm(GemmKind::bf16), nullptr);
  EXPECT_EQ(k.gemm(GemmKind::fp8), nullptr);
  EXPECT_TRUE(k.attention(AttentionKind::decode, 2, 0, {32, 8, 128}).has_value());
  // Full attention in bf16 stands in for an fp8 cache and for windows, at the ratio to their rooflines.
  EXPECT_TRUE(k.attention(AttentionKind::decode, 1, 0, {32, 8, 128}).has_value());
  EXPECT_TRUE(k.attention(AttentionKind::decode, 2, 128, {32, 8, 128}).has_value());
  EXPECT_FALSE(k.attention(AttentionKind::decode, 2, 100, {32, 8, 128}).has_value());
  EXPECT_FALSE(k.attention(AttentionKind::prefill, 2, 0, {32, 8, 128}).has_value());
  EXPECT_FALSE(k.moe(GemmKind::bf16, {}).has_value());
}

TEST(Kernels, ACardWithoutFp8RunsItInBf16) {
  Gpu const a100 = *find_gpu(builtin_catalog(), "a100-sxm-80gb");
  Kernels const k(tables_of({twice_the_roofline(GemmKind::bf16)}, {}), a100);
  EXPECT_EQ(k.gemm(GemmKind::fp8), k.gemm(GemmKind::bf16));
}

TEST(Kernels, TheClockSlowsWhatComputes) {
  Profile const p = with(tables_of({twice_the_roofline(GemmKind::bf16)}, {}));
  // Bound by compute: 2 x 2 x 8192^3 / 989e12 at full clock, a ninth more at 0.9.
  double const square = 4 * std::pow(8192.0, 3) / 989e12;
  EXPECT_NEAR(gemm_time(p, 8192, 8192, 8192, DType::bf16).value, square, 1e-9 * square);
  EXPECT_NEAR(gemm_time(p, 8192, 8192, 8192, DType::bf16, 0.9).value, square / 0.9, 1e-9 * square);
  // One row: 33.6 MB of weights at 3.35 TB/s are 10.0 us, its 33.6 MFLOP 34 ns: the clock hardly counts.
  double const row = gemm_time(p, 1, 4096, 4096, DType::bf16).value;
  double const compute_share = 2 * 4096.0 * 4096 / 989e12 / (row / 2);
  EXPECT_NEAR(gemm_time(p, 1, 4096, 4096, DType::bf16, 0.9).value, row * (1 + compute_share / 9), 1e-12);
  EXPECT_LT(compute_share, 0.004);
}

TEST(Kernels, ProductsThatShareTheirInputRunAsOne) {
  Architecture const a = catalog_model("llama-3.1-8b");
  std::vector<Matmul> const list = fused(layer_shape(a, 0, Cut{2, 1, false}).matmuls, Fusion::all);
  ASSERT_EQ(list.size(), 4U);  // qkv, o, gate_up, down
  EXPECT_EQ(list[0].n, 2048 + 512 + 512);
  EXPECT_EQ(list[1].n, 4096);
  EXPECT_EQ(list[1].k, 2048);
  EXPECT_EQ(list[2].n, 14336);
  EXPECT_EQ(list[3].k, 7168);
}

TEST(Kernels, ADecodeStepIsTheSumOfItsKernels) {
  Profile const p =
      with(tables_of({twice_the_roofline(GemmKind::bf16)},
                     {three_rooflines(AttentionKind::decode), three_rooflines(AttentionKind::prefill)}));
  Architecture const a = catalog_model("llama-3.1-8b");
  EngineOptions e;
  e.max_model_len = 8192;
  StepPrices const prices = rollout_step_prices(p, a, e, h100_cluster(1));
  // 2 x (bytes of the products at one token) / bandwidth: 218,103,808 weights a layer, 525,336,576 of the
  // head, and 69,632 (x and y of four products) and 132,352 elements. Passes as in RolloutPrices.
  double const products = 2 * 2 * (32 * (218103808.0 + 69632) + 525336576.0 + 132352) / 3.35e12;
  double const passes = 32 * 188416.0 / (0.5 * 3.35e12);
  // The table has no other knots than its corners; between them more are laid, and lines in log time.
  EXPECT_NEAR(prices.dense.at(1), products + passes, 1e-4 * products);
  // 64 sequences at 4,096 tokens: KV 64 x 4096 x 4096 B and q, o 64 x 4 x 4096 B a layer, thrice, and 1 us.
  double const attention = 32 * (1e-6 + 3 * 64 * (4096.0 * 4096 + 16384) / 3.35e12);
  EXPECT_NEAR(decode_curve(prices, 64).at(4096), attention, 0.01 * attention);
  // A prompt of 4,096 tokens, two of which fill the budget of 8,192: FLOPs 2 x 4096^2 x 32 x 128 over 989e12
  // and bytes 4 x 4096 x 40 x 128 over 3.35e12, thrice, and half of 1 us.
  double const prompt = 32 * (0.5e-6 + 3 * (2 * 4096.0 * 4096 * 4096 / 989e12 + 4 * 4096.0 * 5120 / 3.35e12));
  EXPECT_NEAR(prices.prefill.at(causal_pairs(4096)), prompt, 0.01 * prompt);
}

TEST(Kernels, APackCostsWhatItsSequencesCost) {
  Profile const p =
      with(tables_of({twice_the_roofline(GemmKind::bf16)}, {three_rooflines(AttentionKind::prefill)}));
  Job const job = llama_job(1);
  Stage const layers{0, 32, false, false};
  // 8 sequences of 1,024, or 4 of 512 and 3 of 2,048 (all 8,192 tokens): the attention of the latter has
  // 4 x 512^2 + 3 x 2048^2 = 13.6 million squares against 8.4 million.
  MicroBatch const even{8192, 8192, 8 * causal_pairs(1024)};
  MicroBatch const mixed{8192, 8192, 4 * causal_pairs(512) + 3 * causal_pairs(2048)};
  double const more =
      stage_times(p, job, layers, mixed).forward.value - stage_times(p, job, layers, even).forward.value;
  // Thrice the roofline of 2 x 4096 FLOPs per square, slowed by the clock of 0.9.
  double const squares = 4 * 512.0 * 512 + 3 * 2048.0 * 2048 - 8 * 1024.0 * 1024;
  double const expected = 32 * 3 * 2 * 4096 * squares / 989e12 / 0.9;
  EXPECT_NEAR(more, expected, 0.02 * expected);
}

// 128 experts of 2048 x 768, 8 per token, measured without ep: 2 us per token from 1,024 tokens on.
MoeTable two_us_a_token() {
  MoeTable t;
  t.distribution = "power_law_1.01";
  t.shortest = seconds(1e-6);
  t.shapes = {{2048, 768, 128, 8, 1, 1}};
  for (double tokens = 1; tokens <= 65536; tokens *= 2) {
    t.tokens.push_back(tokens);
    double const roof = moe_roofline(round_profile().gpu, t.kind, t.shapes[0], tokens).value;
    double const time = 2e-6 * std::max(1024.0, tokens);
    t.log_ratio.push_back(std::log(time / (1e-6 + roof)));
  }
  return t;
}

// Tokens were sent to the ranks of their experts before: eight ranks together do what one would with the
// tokens of all.
TEST(Kernels, ATrainersRanksShareWhatOneWouldDo) {
  KernelTables tables;
  tables.moe = {two_us_a_token()};
  Profile const p = with(std::move(tables));
  Architecture const a = catalog_model("qwen3-30b-a3b");
  auto const time = [&](int ep, double tokens) {
    LayerShape const shape = layer_shape(a, 0, Cut{1, ep, /*whole_experts=*/false});
    LayerProducts const products = layer_products(p, shape, DType::bf16, Fusion::all);
    EXPECT_TRUE(products.experts);
    EXPECT_TRUE(std::none_of(products.matmuls.begin(), products.matmuls.end(),
                             [](Matmul const& m) { return m.expert; }));
    return experts_time(p, products, tokens, DType::bf16, 1).value;
  };
  EXPECT_NEAR(time(1, 8192), 8192 * 2e-6, 1e-6);
  EXPECT_NEAR(time(8, 8192), 65536 * 2e-6 / 8, 1e-6);
  EXPECT_NEAR(time(8, 16), 1024 * 2e-6 / 8, 1e-6);  // 128 tokens cost what 1,024 do
}

// fused_experts holds the experts' activation and the way there and back; a trainer's routing is its own.
TEST(Kernels, MeasuredExpertsHoldTheirPasses) {
  Architecture const a = catalog_model("qwen3-30b-a3b");
  LayerShape const shape = layer_shape(a, 0, Cut{1, 1, false});
  KernelTables tables;
  PassLaw law;
  for (ElementwisePass const kind :
       {ElementwisePass::norm, ElementwisePass::rope, ElementwisePass::activation, ElementwisePass::add}) {
    law.kind = kind;
    tables.passes.resize(1);
    tables.passes[0].laws.push_back(law);
  }
  Profile p = with(std::move(tables));
  p.gpu.l2 = Bytes(1e18);  // bytes / bandwidth alone
  double const tokens = 4096;
  double const bandwidth = p.gpu.memory_bandwidth.value;
  double const experts = tokens * 8 * 768 * 6 / bandwidth;
  double const routing = 2 * tokens * 8 * 2048 * 4 / bandwidth;
  double const unmeasured = passes_time(p, shape, tokens, 1, false, false).value;
  EXPECT_NEAR(unmeasured - passes_time(p, shape, tokens, 1, false, true).value, experts, 1e-9);
  double const engine = passes_time(p, shape, tokens, 1, true, false).value;
  EXPECT_NEAR(engine - passes_time(p, shape, tokens, 1, true, true).value, experts + routing, 1e-9);
}

}  // namespace
}  // namespace rollcast
