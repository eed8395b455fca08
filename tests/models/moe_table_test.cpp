#include "models/moe_table.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>

#include "models/random.hpp"

namespace rollcast {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// 1e12 FLOP/s, 1e10 B/s.
Gpu gpu() {
  Gpu g;
  g.name = "g";
  g.bf16 = TFLOPs(1);
  g.memory_bandwidth = GB_per_s(10);
  return g;
}

MoeTable table() {
  MoeTable t;
  t.distribution = "balanced";
  t.shortest = us(20);
  t.tokens = {1, 16, 256};
  t.shapes = {{64, 32, 8, 2, 1, 1}};
  t.log_ratio = {0, 0, 0};
  return t;
}

double base(MoeTable const& t, MoeShape const& s, double tokens) {
  return t.shortest.value + moe_roofline(gpu(), t.kind, s, tokens).value;
}

TEST(MoeRoofline, ReadsTheExpertsThatTokensReach) {
  // One token, top 2 of 8: 1 - 6/8 = 1/4 of 8 experts of 3 x 64 x 32: 12,288 weights, 24,576 B; activations
  // 2 arrivals x (128 + 96) + 2 x 64 = 576, 1,152 B: 2.5728 us at 1e10; FLOPs 6 x 2 x 64 x 32: 24.6 ns.
  EXPECT_NEAR(moe_roofline(gpu(), GemmKind::bf16, {64, 32, 8, 2, 1, 1}, 1).value, 2.5728e-6, 1e-15);
  // fp8 weights: 12,288 B.
  EXPECT_NEAR(moe_roofline(gpu(), GemmKind::fp8, {64, 32, 8, 2, 1, 1}, 1).value, 1.344e-6, 1e-15);
  // tp 2 and ep 4 of the same: 6,144 / 4 weights, 3,072 B; 0.5 arrivals x (128 + 48) + 128 = 216, 432 B.
  EXPECT_NEAR(moe_roofline(gpu(), GemmKind::bf16, {64, 32, 8, 2, 2, 4}, 1).value, 0.3504e-6, 1e-15);
}

TEST(MoePrices, AreTheRatioTimesShortestPlusRoofline) {
  MoeTable t = table();
  t.log_ratio = {0.1, 0.2, 0.3};
  MoeShape const s = t.shapes[0];
  MoePrices const p(t, gpu(), s);
  EXPECT_NEAR(p.at(16).value, std::exp(0.2) * base(t, s, 16), 1e-12);
  // Log time half way between 16 and 256 in log tokens.
  EXPECT_NEAR(p.at(64).value, std::sqrt(p.at(16).value * p.at(256).value), 1e-12);
  EXPECT_NEAR(p.at(1024) / p.at(256), 4, 1e-9);
  EXPECT_DOUBLE_EQ(p.at(0.5).value, p.at(1).value);
  EXPECT_DOUBLE_EQ(p.at(0).value, 0);
}

TEST(MoePrices, FillTokensAlongTheShape) {
  MoeTable t = table();
  t.log_ratio = {0.1, kNan, 0.5};
  EXPECT_NEAR(price(t, gpu(), t.shapes[0], 16).value, std::exp(0.3) * base(t, t.shapes[0], 16), 1e-12);
  t.log_ratio = {kNan, 0.4, kNan};
  EXPECT_NEAR(price(t, gpu(), t.shapes[0], 256).value, std::exp(0.4) * base(t, t.shapes[0], 256), 1e-9);
}

TEST(MoePrices, OfACutBetweenMeasuredOnesAreBetweenTheirRatios) {
  MoeTable t = table();
  // ep 1 and 4 at tp 2, half way 0.3; tp 1 and 8 at ep 2: 0.6 + 0.6 / 3 = 0.8; the mean: 0.55.
  t.shapes = {{64, 32, 8, 2, 2, 1}, {64, 32, 8, 2, 2, 4}, {64, 32, 8, 2, 1, 2}, {64, 32, 8, 2, 8, 2}};
  t.log_ratio = {0.2, 0.2, 0.2, 0.4, 0.4, 0.4, 0.6, 0.6, 0.6, 1.2, 1.2, 1.2};
  MoeShape const s{64, 32, 8, 2, 2, 2};
  EXPECT_NEAR(price(t, gpu(), s, 16).value, std::exp(0.55) * base(t, s, 16), 1e-12);
}

TEST(MoePrices, OfOtherShapesFollowTheNearest) {
  MoeTable t = table();
  // Distances log 2 and log 4 in hidden: weights 1 and 1/4 (but for the 1e-3 that keeps them finite).
  t.shapes = {{64, 32, 8, 2, 1, 1}, {512, 32, 8, 2, 1, 1}};
  t.log_ratio = {0.2, 0.2, 0.2, 0.7, 0.7, 0.7};
  MoeShape const s{128, 32, 8, 2, 1, 1};
  EXPECT_NEAR(price(t, gpu(), s, 16).value, std::exp(0.3) * base(t, s, 16), 1e-3 * base(t, s, 16));
}

TEST(MoePrices, NeverFallWithTokens) {
  MoeTable t = table();
  t.tokens = {1, 2, 4, 8, 16, 32, 64, 128};
  t.log_ratio.clear();
  for (std::uint64_t i = 0; i < 8; ++i) t.log_ratio.push_back(2 * uniform({3, Purpose::jitter, 0, i}));
  MoePrices const p(t, gpu(), t.shapes[0]);
  for (double n = 0.5; n < 500; n *= 1.07) EXPECT_GE(p.at(1.07 * n).value, p.at(n).value * (1 - 1e-12));
}

TEST(MoePrices, RefuseWhatHasNoPrice) {
  MoeTable t = table();
  EXPECT_THROW(MoePrices(t, gpu(), {0, 32, 8, 2, 1, 1}), std::logic_error);
  t.shapes.clear();
  EXPECT_THROW(MoePrices(t, gpu(), {64, 32, 8, 2, 1, 1}), std::logic_error);
}

TEST(MoeTableText, RoundTripsAndSaysWhatIsWrong) {
  MoeTable t = table();
  t.kind = GemmKind::fp8_block;
  t.log_ratio = {0.5, kNan, 1.5};
  std::string const text = to_text(t);
  Parsed<MoeTable> const read = moe_table_from(text);
  ASSERT_TRUE(read.value) << read.error;
  EXPECT_EQ(read.value->kind, GemmKind::fp8_block);
  EXPECT_EQ(read.value->distribution, "balanced");
  EXPECT_DOUBLE_EQ(read.value->shortest.value, 2e-5);
  ASSERT_EQ(read.value->shapes.size(), 1u);
  EXPECT_DOUBLE_EQ(read.value->shapes[0].experts, 8);
  EXPECT_NEAR(read.value->log_ratio[2], 1.5, 0.00051);
  EXPECT_TRUE(std::isnan(read.value->log_ratio[1]));
  EXPECT_EQ(to_text(*read.value), text);

  auto const with = [&](std::string const& from, std::string const& to) {
    std::string changed = text;
    changed.replace(changed.find(from), from.size(), to);
    return moe_table_from(changed).error;
  };
  EXPECT_NE(with("moe fp8_block", "moe int4").find("no kind of gemm"), std::string::npos);
  EXPECT_NE(with("tokens 1 16", "tokens 16 1").find("ascend"), std::string::npos);
  EXPECT_NE(with("64 32 8 2 1 1 ", "64 32 8 2 1 ").find("line 6"), std::string::npos);
  EXPECT_NE(with("64 32 8 2 1 1 ", "64 32 8 0 1 1 ").find("line 6"), std::string::npos);
  EXPECT_NE(moe_table_from(text.substr(0, text.find("64 32"))).error.find("at least one"), std::string::npos);
}

}  // namespace
}  // namespace rollcast
