#include "models/attention_tables.hpp"

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

double draw(std::uint64_t index) { return uniform({2, Purpose::jitter, 0, index}); }

AttentionTable table(AttentionKind kind) {
  AttentionTable t;
  t.kind = kind;
  t.shortest = us(10);
  t.batch = {1, 4, 16};
  t.length = {16, 128, 1024};
  t.shapes = {{8, 2, 128}};
  t.log_ratio.assign(9, 0);
  return t;
}

double roof(AttentionTable const& t, HeadShape s, double batch, double length) {
  return attention_roofline(gpu(), t, s, batch, length).value;
}

AttentionTable rough_table(AttentionKind kind) {
  AttentionTable t = table(kind);
  t.shapes = {{8, 2, 128}, {32, 2, 128}, {16, 4, 128}, {16, 1, 128}};
  t.log_ratio.clear();
  for (std::uint64_t i = 0; i < 36; ++i) t.log_ratio.push_back(i % 9 == 8 ? kNan : draw(i) - 0.5);
  return t;
}

TEST(AttentionRoofline, OfDecodeIsTheSlowerOfKvBytesAndFlops) {
  AttentionTable t = table(AttentionKind::decode);
  // Batch 2, context 1000, 8 heads on 2 kv heads of 128: bytes 2 x 128 x (2 x 1000 x 2 x 2 + 4 x 8) =
  // 2,056,192 B: 205.6 us; FLOPs 4 x 2 x 1000 x 8 x 128: 8.2 us.
  EXPECT_NEAR(roof(t, {8, 2, 128}, 2, 1000), 2056192 / 1e10, 1e-12);
  t.kv_bytes = 1;  // 2 x 128 x (2 x 1000 x 2 + 32) B
  EXPECT_NEAR(roof(t, {8, 2, 128}, 2, 1000), 1032192 / 1e10, 1e-12);
  t.window = 100;
  EXPECT_NEAR(roof(t, {8, 2, 128}, 2, 1000), roof(t, {8, 2, 128}, 2, 100), 1e-15);
}

TEST(AttentionRoofline, OfPrefillIsPairsPlusBytes) {
  AttentionTable t = table(AttentionKind::prefill);
  // 2 x 1e6 x 8 x 128 FLOP: 2.048 ms; 4 x 1000 x 10 x 128 B: 512 us.
  EXPECT_NEAR(roof(t, {8, 2, 128}, 1, 1000), 2.048e-3 + 5.12e-4, 1e-12);
  t.window = 100;  // 2 x 100 x 1000 - 1e4 = 190,000 instead of 1e6
  EXPECT_NEAR(roof(t, {8, 2, 128}, 1, 1000), 0.19 * 2.048e-3 + 5.12e-4, 1e-12);
}

TEST(AttentionPrices, AreTheRatioTimesShortestPlusRoofline) {
  AttentionTable t = table(AttentionKind::decode);
  t.log_ratio.assign(9, std::log(1.5));
  AttentionPrices const p(t, gpu(), {8, 2, 128});
  EXPECT_NEAR(p.at(4, 128).value, 1.5 * (1e-5 + roof(t, {8, 2, 128}, 4, 128)), 1e-12);
}

TEST(AttentionPrices, OfDecodeAreLinearInContextAndBatch) {
  AttentionTable const t = rough_table(AttentionKind::decode);
  AttentionPrices const p(t, gpu(), {8, 2, 128});
  EXPECT_NEAR(p.at(4, 576).value, (p.at(4, 128) + p.at(4, 1024)).value / 2, 1e-15);
  EXPECT_NEAR(p.at(10, 128).value, (p.at(4, 128) + p.at(16, 128)).value / 2, 1e-15);
  // Beyond the last knots the last slope goes on.
  EXPECT_NEAR(p.at(4, 1920).value, (2 * p.at(4, 1024) - p.at(4, 128)).value, 1e-15);
  EXPECT_NEAR(p.at(28, 128).value, (2 * p.at(16, 128) - p.at(4, 128)).value, 1e-15);
  EXPECT_DOUBLE_EQ(p.at(0, 128).value, 0);
  EXPECT_DOUBLE_EQ(p.at(4, 1).value, p.at(4, 16).value);
}

TEST(AttentionPrices, GiveTheCurveThatStepPricesSum) {
  AttentionPrices const p(rough_table(AttentionKind::decode), gpu(), {8, 2, 128});
  Curve const c = p.curve(7);
  EXPECT_EQ(c.x, p.length_knots());
  double sum = 0;
  for (int i = 0; i < 1500; ++i) sum += p.at(7, 20.0 + i).value;
  EXPECT_NEAR(sum_over_contexts(c, 20, 1500), sum, 1e-9 * sum);
}

TEST(AttentionPrices, OfPrefillAreConstantPlusSquareWherePairsDominate) {
  AttentionTable const t = rough_table(AttentionKind::prefill);
  Gpu endless = gpu();
  endless.memory_bandwidth = TB_per_s(1e6);  // no bytes
  AttentionPrices const p(t, endless, {8, 2, 128});
  double const low = p.at(4, 128).value;
  double const high = p.at(4, 1024).value;
  double const k = (high - low) / (1024.0 * 1024 - 128 * 128);
  EXPECT_NEAR(p.at(4, 500).value, low + k * (500.0 * 500 - 128 * 128), 1e-7 * high);
}

TEST(AttentionPrices, AfterAPrefixAreWhatTheWholeAdds) {
  AttentionPrices const p(table(AttentionKind::prefill), gpu(), {8, 2, 128});
  EXPECT_DOUBLE_EQ(p.with_prefix(2, 300, 0).value, p.at(2, 300).value);
  EXPECT_DOUBLE_EQ(p.with_prefix(2, 300, 700).value, (p.at(2, 1000) - p.at(2, 700)).value);
  EXPECT_GE(p.with_prefix(1, 1, 16).value, p.at(1, 1).value);
}

TEST(AttentionPrices, FillLengthsAsTheSmallerBatchGoesOn) {
  AttentionTable t = table(AttentionKind::decode);
  // Batch 4 is not measured at 1024, batch 16 not at all.
  t.log_ratio = {0.1, 0.2, 0.5, 0.1, 0.4, kNan, kNan, kNan, kNan};
  HeadShape const s{8, 2, 128};
  AttentionPrices const p(t, gpu(), s);
  // 0.4 + (0.5 - 0.2) = 0.7.
  EXPECT_NEAR(p.at(4, 1024).value, std::exp(0.7) * (1e-5 + roof(t, s, 4, 1024)), 1e-9);
  EXPECT_NEAR(p.at(16, 1024).value, std::exp(0.7) * (1e-5 + roof(t, s, 16, 1024)), 1e-9);
}

TEST(AttentionPrices, OfHeadsBetweenMeasuredOnesAreBetweenTheirRatios) {
  AttentionTable t = table(AttentionKind::decode);
  t.shapes = {{8, 2, 128}, {32, 2, 128}};
  t.log_ratio.assign(18, 0.2);
  std::fill(t.log_ratio.begin() + 9, t.log_ratio.end(), 0.6);
  HeadShape const s{16, 2, 128};  // half way in log heads: 0.4
  EXPECT_NEAR(price(t, gpu(), s, 4, 128).value, std::exp(0.4) * (1e-5 + roof(t, s, 4, 128)), 1e-12);
  // Along kv heads from 1 to 4 as well, 0.8 and 1.2: half way 1.0, equally far: (0.4 + 1.0) / 2.
  t.shapes.insert(t.shapes.end(), {{16, 1, 128}, {16, 4, 128}});
  t.log_ratio.resize(36, 0.8);
  std::fill(t.log_ratio.begin() + 27, t.log_ratio.end(), 1.2);
  EXPECT_NEAR(price(t, gpu(), s, 4, 128).value, std::exp(0.7) * (1e-5 + roof(t, s, 4, 128)), 1e-12);
}

TEST(AttentionPrices, OfOtherHeadsAreTheSameWorkInAnotherBatch) {
  AttentionTable const t = rough_table(AttentionKind::decode);
  // Twice the kv heads of (16, 4), the nearest in groups of 4: batch 1 reads what batch 2 does there.
  EXPECT_NEAR(price(t, gpu(), {32, 8, 128}, 1, 128) / price(t, gpu(), {16, 4, 128}, 2, 128), 1, 1e-9);
  // Twice the head_dim: half the context.
  EXPECT_NEAR(price(t, gpu(), {8, 2, 256}, 4, 128) / price(t, gpu(), {8, 2, 128}, 4, 256), 1, 1e-9);
  // Prefill: twice the heads.
  AttentionTable const f = rough_table(AttentionKind::prefill);
  EXPECT_NEAR(price(f, gpu(), {32, 8, 128}, 1, 128) / price(f, gpu(), {16, 4, 128}, 2, 128), 1, 1e-9);
}

TEST(AttentionPrices, NeverFallWithBatchOrLength) {
  for (AttentionKind const kind : {AttentionKind::decode, AttentionKind::prefill}) {
    for (HeadShape const s : {HeadShape{8, 2, 128}, HeadShape{16, 2, 128}, HeadShape{96, 8, 64}}) {
      AttentionPrices const p(rough_table(kind), gpu(), s);
      for (std::uint64_t i = 0; i < 500; ++i) {
        double const batch = 1 + 30 * draw(3 * i);
        double const length = 1 + 2000 * draw(3 * i + 1);
        double const here = p.at(batch, length).value;
        EXPECT_GE(p.at(batch + 3 * draw(3 * i + 2), length).value, here * (1 - 1e-12));
        EXPECT_GE(p.at(batch, length + 300 * draw(3 * i + 2)).value, here * (1 - 1e-12));
      }
    }
  }
}

TEST(AttentionPrices, OfAnotherGpuFollowItsRoofline) {
  Gpu fast = gpu();
  fast.memory_bandwidth = GB_per_s(40);
  AttentionTable const t = table(AttentionKind::decode);
  HeadShape const s{8, 2, 128};
  EXPECT_NEAR(price(t, fast, s, 16, 1024).value, 1e-5 + roof(t, s, 16, 1024) / 4, 1e-9);
}

TEST(AttentionPrices, RefuseWhatHasNoPrice) {
  AttentionTable t = table(AttentionKind::decode);
  EXPECT_THROW(AttentionPrices(t, gpu(), {0, 1, 128}), std::logic_error);
  t.shapes.clear();
  EXPECT_THROW(AttentionPrices(t, gpu(), {8, 2, 128}), std::logic_error);
}

TEST(AttentionTableText, RoundTripsWithinHalfAStep) {
  AttentionTable t = rough_table(AttentionKind::prefill);
  t.kv_bytes = 1;
  t.window = 4096;
  std::string const text = to_text(t);
  Parsed<AttentionTable> const read = attention_table_from(text);
  ASSERT_TRUE(read.value) << read.error;
  EXPECT_EQ(read.value->kind, AttentionKind::prefill);
  EXPECT_DOUBLE_EQ(read.value->kv_bytes, 1);
  EXPECT_DOUBLE_EQ(read.value->window, 4096);
  EXPECT_DOUBLE_EQ(read.value->shortest.value, 1e-5);
  ASSERT_EQ(read.value->shapes.size(), 4u);
  ASSERT_EQ(read.value->log_ratio.size(), t.log_ratio.size());
  for (std::size_t i = 0; i < t.log_ratio.size(); ++i) {
    EXPECT_EQ(std::isnan(read.value->log_ratio[i]), std::isnan(t.log_ratio[i]));
    if (!std::isnan(t.log_ratio[i])) {
      EXPECT_NEAR(read.value->log_ratio[i], t.log_ratio[i], 0.00051);
    }
  }
  EXPECT_EQ(to_text(*read.value), text);
}

TEST(AttentionTableText, SaysWhatIsWrong) {
  std::string const good = to_text(table(AttentionKind::decode));
  auto const error_of = [](std::string const& text) {
    Parsed<AttentionTable> const read = attention_table_from(text);
    EXPECT_FALSE(read.value);
    return read.error;
  };
  auto const with = [&](std::string const& from, std::string const& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    return text;
  };
  EXPECT_NE(error_of("").find("starts with the lines"), std::string::npos);
  EXPECT_NE(error_of(with("attention decode", "attention cross")).find("no kind"), std::string::npos);
  EXPECT_NE(error_of(with("kv_bytes 2", "kv_bytes 0")).find("kv_bytes"), std::string::npos);
  EXPECT_NE(error_of(with("batch 1 4", "batch 4 1")).find("ascend"), std::string::npos);
  EXPECT_NE(error_of(with("8 2 128 4 ", "8 2 128 5 ")).find("line 9"), std::string::npos);
  EXPECT_NE(error_of(with("8 2 128 4 ", "8 0 128 4 ")).find("line 9"), std::string::npos);
  EXPECT_NE(error_of(good.substr(0, good.find("8 2 128"))).find("at least one"), std::string::npos);
}

}  // namespace
}  // namespace rollcast
