#include "models/gemm_table.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>

#include "models/monotone.hpp"
#include "models/random.hpp"
#include "models/table_text.hpp"

namespace rollcast {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// 1e12 FLOP/s, 1e10 B/s: 100 FLOP a byte.
Gpu gpu() {
  Gpu g;
  g.name = "g";
  g.bf16 = TFLOPs(1);
  g.memory_bandwidth = GB_per_s(10);
  return g;
}

double draw(std::uint64_t index) { return uniform({1, Purpose::jitter, 0, index}); }

// Knots with a missing pair in ten, ratios between 1 and e^1.5 that fall at random: nothing is ascending.
GemmTable rough_table(GemmKind kind) {
  GemmTable t;
  t.kind = kind;
  t.m = {1, 8, 16, 17, 64, 65, 256, 257, 1024, 4096};
  t.n = {128, 256, 1024, 1536, 16384};
  t.k = {128, 512, 768, 8192};
  t.below = {0, 0.3, 0.2};
  t.above = {1, 0.9, 0.8};
  std::uint64_t index = 0;
  for (std::size_t pair = 0; pair < t.n.size() * t.k.size(); ++pair) {
    bool const missing = pair % 10 == 7;
    for (std::size_t m = 0; m < t.m.size(); ++m) {
      t.log_ratio.push_back(missing ? kNan : 1.5 * draw(index++));
    }
  }
  return t;
}

GemmTable flat_table(double log_ratio) {
  GemmTable t;
  t.m = {1, 16, 256, 4096};
  t.n = {128, 1024, 8192};
  t.k = {128, 1024, 8192};
  t.log_ratio.assign(36, log_ratio);
  return t;
}

TEST(TableText, WritesTwoCharactersAValueAndReadsThemBack) {
  // Codes 0, 1, 64 and 4094 of 4095: "00", "01", "10", "-+".
  LogScale const scale{-1, 0.5};
  EXPECT_EQ(encode({-1, -0.5, 31, 2046, kNan, 1e9, -9}, scale), "000110-+..-+00");
  std::vector<double> values;
  ASSERT_TRUE(decode("000110-+..", scale, values));
  ASSERT_EQ(values.size(), 5u);
  EXPECT_DOUBLE_EQ(values[2], 31);
  EXPECT_DOUBLE_EQ(values[3], 2046);
  EXPECT_TRUE(std::isnan(values[4]));
  EXPECT_FALSE(decode("000", scale, values));
  EXPECT_FALSE(decode("0!", scale, values));
  EXPECT_FALSE(decode("--", scale, values));  // 4095 is no code
}

TEST(TableText, ScaleIsTheFinestThatCovers) {
  EXPECT_DOUBLE_EQ(scale_of({0, 4}).step, 0.001);  // 4093 steps reach 4.093
  EXPECT_DOUBLE_EQ(scale_of({0, 4.2}).step, 0.002);
  EXPECT_DOUBLE_EQ(scale_of({-1.05, kNan, 8.5}).step, 0.0025);  // from -1.1 to 9.13
  EXPECT_NEAR(scale_of({-1.05, kNan, 8.5}).offset, -1.1, 1e-12);
  EXPECT_DOUBLE_EQ(scale_of({0, 18}).step, 0.005);
}

TEST(Monotone, PoolsViolatorsOfALine) {
  // 3, 1, 2 pool to their mean 2; 5, 4 to 4.5.
  std::vector<double> line = {0, 3, 1, 2, 5, 4};
  EXPECT_TRUE(make_line_ascending(line, 0, 1, 6));
  EXPECT_EQ(line, (std::vector<double>{0, 2, 2, 2, 4.5, 4.5}));
  EXPECT_FALSE(make_line_ascending(line, 0, 1, 6));
}

TEST(Monotone, GridsAscendAlongEveryAxis) {
  std::vector<double> v;
  for (std::uint64_t i = 0; i < 7 * 5 * 6; ++i) v.push_back(draw(i));
  make_ascending(v, 7, 5, 6);
  for (std::size_t i = 0; i < 7; ++i) {
    for (std::size_t j = 0; j < 5; ++j) {
      for (std::size_t l = 0; l < 6; ++l) {
        double const here = v[(i * 5 + j) * 6 + l];
        if (i > 0) {
          EXPECT_GE(here, v[((i - 1) * 5 + j) * 6 + l]);
        }
        if (j > 0) {
          EXPECT_GE(here, v[(i * 5 + j - 1) * 6 + l]);
        }
        if (l > 0) {
          EXPECT_GE(here, v[(i * 5 + j) * 6 + l - 1]);
        }
      }
    }
  }
}

TEST(GemmRoofline, IsTheSlowerOfComputeAndBytes) {
  // 2 x 100^3 FLOP: 2 us at 1e12; 3 x 2e4 B: 6 us at 1e10.
  EXPECT_DOUBLE_EQ(gemm_roofline(gpu(), GemmKind::bf16, 100, 100, 100).value, 6e-6);
  // 2 x 1e4 x 1e3 x 1e4 FLOP: 0.2 s; bytes 2 x (1e8 + 1e7 + 1e7): 24 ms.
  EXPECT_DOUBLE_EQ(gemm_roofline(gpu(), GemmKind::bf16, 1e4, 1e3, 1e4).value, 0.2);
  // fp8 operands have one byte: 1e4 + 1e4 + 2e4 B: 4 us; no fp8 rate: the bf16 rate.
  EXPECT_DOUBLE_EQ(gemm_roofline(gpu(), GemmKind::fp8, 100, 100, 100).value, 4e-6);
}

TEST(GemmPrices, AreTheRatioTimesTheRoofline) {
  GemmPrices const p(flat_table(std::log(1.25)), gpu());
  for (double const m : {1.0, 16.0, 256.0, 4096.0}) {
    double const roof = gemm_roofline(gpu(), GemmKind::bf16, m, 1024, 8192).value;
    EXPECT_NEAR(p.at(m, 1024, 8192).value, 1.25 * roof, 1e-9 * roof);
  }
}

// Knots are factors of 8 to 16 apart, those filled in between at most 1.42 in m. A chord over a bend from
// slope 0 to slope 1 (memory to compute) in its middle is high by 1.42^(1/4): 9.2 %.
TEST(GemmPrices, FollowTheRooflineBetweenDistantKnots) {
  GemmPrices const p(flat_table(std::log(1.25)), gpu());
  for (double m = 1; m <= 4096; m *= 1.3) {
    for (double n = 128; n <= 8192; n *= 1.7) {
      double const roof = gemm_roofline(gpu(), GemmKind::bf16, m, n, 1024).value;
      EXPECT_NEAR(p.at(m, n, 1024).value / (1.25 * roof), 1, 0.1) << m << " " << n;
    }
  }
}

TEST(GemmPrices, FillAMissingPairFromItsLines) {
  // Ratios at (n, k): 0.2 and 0.6 along n, 1 and 2 along k around the missing middle pair; knots are factors
  // of 4 apart in n and 2 in k: along n the middle 0.4 with weight 1/4, along k 1.5 with weight 1: 1.28.
  GemmTable t;
  t.m = {64};
  t.n = {128, 512, 2048};
  t.k = {256, 512, 1024};
  t.log_ratio = {kNan, 0.2, kNan, 1, kNan, 2, kNan, 0.6, kNan};
  GemmPrices const p(t, gpu());
  double const roof = gemm_roofline(gpu(), GemmKind::bf16, 64, 512, 512).value;
  // Ascending in n: 0.2, 1.28, 0.6 over rooflines that grow by 4: nothing to pool; in k likewise.
  EXPECT_NEAR(p.at(64, 512, 512).value, roof * std::exp(1.28), 1e-9 * roof);
}

TEST(GemmPrices, NeverFallAtAlignedSizes) {
  for (GemmKind const kind : {GemmKind::bf16, GemmKind::fp8}) {
    GemmPrices const p(rough_table(kind), gpu());
    for (std::uint64_t i = 0; i < 4000; ++i) {
      double const m = draw(6 * i) < 0.3 ? 1 + std::floor(16 * draw(6 * i + 1))
                                         : 16 * std::ceil(std::exp(6 * draw(6 * i + 1)));
      double const n = 64 * std::ceil(std::exp(6 * draw(6 * i + 2)));
      double const k = 64 * std::ceil(std::exp(5.5 * draw(6 * i + 3)));
      double const step = 16 * std::ceil(20 * draw(6 * i + 4));
      double const more_m = m < 16 && draw(6 * i + 5) < 0.5 ? m + 1 : 16 * std::ceil(m / 16) + step;
      double const here = p.at(m, n, k).value;
      double const slack = 1e-12 * here;
      EXPECT_GE(p.at(more_m, n, k).value, here - slack) << m << " " << n << " " << k << " " << more_m;
      EXPECT_GE(p.at(m, n + step, k).value, here - slack) << m << " " << n << " " << k << " " << step;
      EXPECT_GE(p.at(m, n, k + step).value, here - slack) << m << " " << n << " " << k << " " << step;
    }
  }
}

TEST(GemmPrices, KeepAnUnalignedStepBetweenItsKnots) {
  GemmTable t;
  t.m = {256, 257, 512};
  t.n = {1024};
  t.k = {1024};
  auto const roof = [&](double m) { return gemm_roofline(gpu(), GemmKind::bf16, m, 1024, 1024).value; };
  t.log_ratio = {0, std::log(2.5), 0};  // 257 takes longer than 512
  GemmPrices const p(t, gpu());
  EXPECT_NEAR(p.at(257, 1024, 1024).value, 2.5 * roof(257), 1e-9 * roof(257));
  EXPECT_GT(p.at(300, 1024, 1024).value, 2 * roof(300));
  EXPECT_LT(p.at(304, 1024, 1024).value, 1.1 * roof(304));
}

TEST(GemmPrices, HaveNoJumpAtTheBorder) {
  GemmPrices const p(rough_table(GemmKind::fp8_block), gpu());
  for (std::uint64_t i = 0; i < 300; ++i) {
    double const m = std::exp(8 * draw(3 * i));
    double const n = 128 * std::exp(4.8 * draw(3 * i + 1));
    double const k = 128 * std::exp(4.1 * draw(3 * i + 2));
    for (double const border : {1.0, 4096.0}) {
      EXPECT_NEAR(p.at(border * 0.999, n, k).value / p.at(border * 1.001, n, k).value, 1, 0.02);
    }
    for (double const border : {128.0, 16384.0}) {
      EXPECT_NEAR(p.at(m, border * 0.999, k).value / p.at(m, border * 1.001, k).value, 1, 0.02);
    }
    for (double const border : {128.0, 8192.0}) {
      EXPECT_NEAR(p.at(m, n, border * 0.999).value / p.at(m, n, border * 1.001).value, 1, 0.02);
    }
  }
}

// A fitted exponent below 1 would let a product far outside take less than its FLOPs at the peak do.
TEST(GemmPrices, AreNeverBelowTheRooflineOutside) {
  GemmTable t;
  t.m = t.n = t.k = {1024, 2048};
  t.log_ratio.assign(8, portable_log(1.25));
  t.above = {0.9, 0.9, 0.9};
  GemmPrices const prices(t, gpu());
  for (double const size : {2048.0, 16384.0, 131072.0, 1048576.0}) {
    double const roofline = gemm_roofline(gpu(), t.kind, size, size, size).value;
    EXPECT_GE(prices.at(size, size, size).value, roofline * (1 - 1e-12)) << size;
  }
  // 1.25 x (1 / 2)^(0.3) is 1.015: not yet at the roofline at twice the size.
  EXPECT_NEAR(prices.at(4096, 4096, 4096) / gemm_roofline(gpu(), t.kind, 4096, 4096, 4096),
              1.25 / std::pow(2, 0.3), 1e-3);
}

TEST(GemmPrices, GrowByTheExponentOutside) {
  GemmPrices const p(rough_table(GemmKind::bf16), gpu());
  EXPECT_NEAR(p.at(8192, 1024, 512) / p.at(4096, 1024, 512), 2, 1e-9);
  EXPECT_NEAR(p.at(64, 65536, 512) / p.at(64, 16384, 512), std::pow(4, 0.9), 1e-9);
  EXPECT_NEAR(p.at(64, 32, 512) / p.at(64, 128, 512), std::pow(0.25, 0.3), 1e-9);
  EXPECT_NEAR(p.at(0.25, 1024, 512) / p.at(1, 1024, 512), 1, 1e-9);
  EXPECT_TRUE(p.covers(64, 1024, 512));
  EXPECT_FALSE(p.covers(64, 32, 512));
}

TEST(GemmPrices, OfAnotherGpuAreTheSameRatioToItsRoofline) {
  Gpu fast = gpu();
  fast.bf16 = TFLOPs(4);
  fast.memory_bandwidth = GB_per_s(40);
  GemmTable const t = rough_table(GemmKind::bf16);
  // Everything is four times faster, so making it ascending does the same.
  EXPECT_NEAR(price(t, gpu(), 100, 700, 600) / price(t, fast, 100, 700, 600), 4, 1e-6);
}

TEST(GemmPrices, OfAnEmptyTableAreALogicError) {
  GemmTable t = flat_table(kNan);
  EXPECT_THROW(GemmPrices(t, gpu()), std::logic_error);
}

TEST(GemmTableText, RoundTripsWithinHalfAStep) {
  GemmTable const t = rough_table(GemmKind::fp8);
  Parsed<GemmTable> const read = gemm_table_from(to_text(t));
  ASSERT_TRUE(read.value) << read.error;
  EXPECT_EQ(read.value->kind, GemmKind::fp8);
  EXPECT_EQ(read.value->m, t.m);
  EXPECT_EQ(read.value->n, t.n);
  EXPECT_EQ(read.value->k, t.k);
  EXPECT_EQ(read.value->above, t.above);
  EXPECT_EQ(read.value->below, t.below);
  ASSERT_EQ(read.value->log_ratio.size(), t.log_ratio.size());
  for (std::size_t i = 0; i < t.log_ratio.size(); ++i) {
    if (std::isnan(t.log_ratio[i])) {
      EXPECT_TRUE(std::isnan(read.value->log_ratio[i]));
    } else {
      EXPECT_NEAR(read.value->log_ratio[i], t.log_ratio[i], 0.00051);
    }
  }
  EXPECT_EQ(to_text(*read.value), to_text(t));
}

TEST(GemmTableText, SaysWhatIsWrong) {
  std::string const good = to_text(flat_table(0.5));
  auto const error_of = [](std::string const& text) {
    Parsed<GemmTable> const read = gemm_table_from(text);
    EXPECT_FALSE(read.value);
    return read.error;
  };
  auto const with = [&](std::string const& from, std::string const& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    return text;
  };
  EXPECT_NE(error_of("").find("starts with the lines"), std::string::npos);
  EXPECT_NE(error_of(with("gemm bf16", "gemm fp4")).find("no kind of gemm"), std::string::npos);
  EXPECT_NE(error_of(with("m 1 16", "m 16 1")).find("ascend"), std::string::npos);
  EXPECT_NE(error_of(with("\nk 128", "\nk x")).find("line 4"), std::string::npos);
  EXPECT_NE(error_of(with("\n128 1024 ", "\n128 1000 ")).find("line 9"), std::string::npos);
  EXPECT_NE(error_of(good.substr(0, good.size() - 3)).find("line 16"), std::string::npos);
  EXPECT_NE(error_of(good.substr(0, good.find("\n128 128 ") + 1)).find("at least one"), std::string::npos);
}

// gpu() with FLOPs and bytes `flops` and `bandwidth` times as fast.
Gpu faster(double flops, double bandwidth) {
  Gpu g = gpu();
  g.bf16 = g.bf16 * flops;
  g.memory_bandwidth = g.memory_bandwidth * bandwidth;
  return g;
}

TEST(GemmBlend, IsBytesThenTheirSumThenFlops) {
  // 2 x 1 x 1e4 x 1e4 FLOP take 0.2 ms, 2 (1e4 + 1e8 + 1e4) B 20.004 ms: 1.5 x 0.2 beside it is nothing.
  EXPECT_NEAR(gemm_blend(gpu(), GemmKind::bf16, 1, 1e4, 1e4).value, 20.004e-3, 1e-7);
  // 2e12 FLOP take 2 s, x 1.5; 6e8 B 60 ms.
  EXPECT_NEAR(gemm_blend(gpu(), GemmKind::bf16, 1e4, 1e4, 1e4).value, 3, 1e-4);
  // Equal parts: 2^(1/3) of one. m = n = k = s: 3 s^3 / 1e12 = 6 s^2 / 1e10 at s = 200.
  EXPECT_NEAR(gemm_blend(gpu(), GemmKind::bf16, 200, 200, 200).value, 24e-6 * std::cbrt(2.0), 1e-12);
}

TEST(GemmPrices, AnotherCardGetsTheTimeByItsRates) {
  GemmTable t = flat_table(0);  // of products that take twice the blend
  for (std::size_t i = 0; i < t.n.size(); ++i) {
    for (std::size_t j = 0; j < t.k.size(); ++j) {
      for (std::size_t l = 0; l < t.m.size(); ++l) {
        double const roof = gemm_roofline(gpu(), t.kind, t.m[l], t.n[i], t.k[j]).value;
        double const blend = gemm_blend(gpu(), t.kind, t.m[l], t.n[i], t.k[j]).value;
        t.at(i, j, l) = portable_log(2 * blend / roof);
      }
    }
  }
  GemmPrices const here(t, gpu());
  // Both rates double: half the time, however bound.
  GemmPrices const twice(t, gpu(), faster(2, 2));
  for (double const m : {256.0, 1008.0, 4096.0})
    EXPECT_NEAR(twice.at(m, 1024, 8192) / here.at(m, 1024, 8192), 0.5, 1e-3);
  // Large products by FLOPs, skinny ones by bytes.
  GemmPrices const math(t, gpu(), faster(2, 1));
  EXPECT_NEAR(math.at(4096, 8192, 8192) / here.at(4096, 8192, 8192), 0.5, 0.01);
  EXPECT_NEAR(math.at(1, 8192, 8192) / here.at(1, 8192, 8192), 1, 0.01);
}

TEST(GemmPrices, AKernelDoesNotGetShorterThanTheShortestMeasured) {
  GemmTable const t = flat_table(0.5);
  double const shortest = GemmPrices(t, gpu()).at(1, 128, 128).value;
  GemmPrices const fast(t, gpu(), faster(100, 100));
  EXPECT_NEAR(fast.at(1, 128, 128).value, shortest, shortest * 1e-9);
  EXPECT_NEAR(fast.at(16, 1024, 128).value, shortest, shortest * 1e-9);
}

TEST(GemmPrices, TheMeasuredCardIsNotCarriedOver) {
  GemmTable const t = rough_table(GemmKind::bf16);
  GemmPrices const one(t, gpu());
  GemmPrices const two(t, faster(1, 1), gpu());
  for (double const m : {1.0, 17.0, 300.0, 1e5})
    EXPECT_EQ(one.at(m, 700, 900).value, two.at(m, 700, 900).value);
}

}  // namespace
}  // namespace rollcast
