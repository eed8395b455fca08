#include "models/pass_prices.hpp"

#include <gtest/gtest.h>

#include "models/catalog/catalog.hpp"
#include "models/sustained_clock.hpp"

namespace rollcast {
namespace {

Gpu gpu() {
  Gpu g = *find_gpu(builtin_catalog(), "h100-sxm");
  g.memory_bandwidth = BytesPerSecond(1e12);
  g.l2 = bytes(40e6);
  return g;
}

PassLaw norm() { return {ElementwisePass::norm, us(1), seconds(1e-9), seconds(2e-9), 2.0, 0.5}; }

// Width 3000: latency 1 + 3 = 4 us. 250 tokens: 250 x 3000 x 4 = 3 MB, in the cache: 3 us at 1 TB/s, twice
// that 6 us, and 0.5 us of tokens: 6.5 us; sqrt(16 + 42.25) = 7.632168761 us.
TEST(PassPrices, AKernelOfFewTokensIsLatencyAndFlow) {
  EXPECT_NEAR(pass_time(norm(), gpu(), 250, 3000).value * 1e6, 7.632168761, 1e-8);
}

// 2,500 tokens: 30 MB, of which 10 MB do not fit half of 40 MB: 60 + 0.5 x 10 + 5 = 70 us;
// sqrt(16 + 4900) = 70.114192572 us.
TEST(PassPrices, BeyondTheCacheBytesCostMore) {
  EXPECT_NEAR(pass_time(norm(), gpu(), 2500, 3000).value * 1e6, 70.114192572, 1e-8);
}

TEST(PassPrices, ZeroTokensTakeNoTimeAndAnUnknownKindHasNoPrice) {
  PassTable const t{{norm()}};
  EXPECT_EQ(pass_time(t, gpu(), ElementwisePass::norm, 0, 3000)->value, 0);
  EXPECT_FALSE(pass_time(t, gpu(), ElementwisePass::rope, 1, 3000));
  EXPECT_FALSE(fused_time(t, gpu(), {ElementwisePass::add, ElementwisePass::norm}, 1, 3000));
}

// Add and norm of 250 tokens of 3000: latencies 4 us and 2 us, the longer one counts. Flows 6.5 us and
// 250 x 3000 x 6 B = 4.5 us; apart they move 10 B an element, together 8: 11 x 0.8 = 8.8 us;
// sqrt(16 + 77.44) = 9.666436779 us.
TEST(PassPrices, FusedPassesShareOneLatencyAndDoNotReadAgain) {
  PassTable const t{{norm(), {ElementwisePass::add, us(2), seconds(0), seconds(0), 1.0, 0}}};
  EXPECT_NEAR(fused_time(t, gpu(), {ElementwisePass::add, ElementwisePass::norm}, 250, 3000)->value * 1e6,
              9.666436779, 1e-8);
  EXPECT_DOUBLE_EQ(fused_time(t, gpu(), {ElementwisePass::norm}, 250, 3000)->value,
                   pass_time(t, gpu(), ElementwisePass::norm, 250, 3000)->value);
}

TEST(PassPrices, TimeNeverFallsWhenBytesGrow) {
  PassTable const t{{norm(), {ElementwisePass::add, us(2), seconds(0), seconds(0), 0.9, 0.3}}};
  for (double width = 128; width <= 65536; width *= 2) {
    double tokens_before = 0, fused_before = 0;
    for (double tokens = 1; tokens < 1e6; tokens *= 1.07) {
      double const time = pass_time(t, gpu(), ElementwisePass::norm, tokens, width)->value;
      double const fused =
          fused_time(t, gpu(), {ElementwisePass::add, ElementwisePass::norm}, tokens, width)->value;
      EXPECT_GE(time, tokens_before);
      EXPECT_GE(fused, fused_before);
      EXPECT_GE(pass_time(t, gpu(), ElementwisePass::norm, tokens, width * 1.01)->value, time);
      tokens_before = time;
      fused_before = fused;
    }
  }
}

TEST(PassPrices, TextComesBack) {
  PassTable const t{{norm(), {ElementwisePass::adam, us(2), seconds(0), seconds(0), 1.25, 0}}};
  std::string const text = to_text(t);
  Parsed<PassTable> const back = pass_table_from(text);
  ASSERT_TRUE(back.value) << back.error;
  ASSERT_EQ(back.value->laws.size(), 2U);
  EXPECT_EQ(back.value->laws[1].kind, ElementwisePass::adam);
  EXPECT_EQ(to_text(*back.value), text);
}

TEST(PassPrices, BadTextIsAnError) {
  for (char const* text : {"", "norm 1 2 3 4", "norm 1 2 3 4 5\nnorm 1 2 3 4 5", "norm 1 2 3 -4 5",
                           "norm 0 1 0 0 5", "nrom 1 2 3 4 5", "norm 1 2 3 4 5 6", "norm 1 2 3 nan 5"}) {
    EXPECT_FALSE(pass_table_from(text).value) << text;
    EXPECT_FALSE(pass_table_from(text).error.empty());
  }
}

TEST(PassPrices, EveryKindHasANameAndBytes) {
  for (ElementwisePass const k :
       {ElementwisePass::norm, ElementwisePass::rope, ElementwisePass::activation, ElementwisePass::add,
        ElementwisePass::embedding, ElementwisePass::log_softmax, ElementwisePass::adam}) {
    EXPECT_EQ(pass_kind_of(name_of(k)), k);
    EXPECT_GT(bytes_per_element(k), 0);
  }
  EXPECT_FALSE(pass_kind_of("gelu"));
}

// A GPU of 100 TFLOP/s and 1 TB/s. m = n = k = 1000: 2e9 FLOP = 20 us, 6 MB = 6 us: it computes, 10 us become
// 10 / 0.8 = 12.5. m = 10: 0.2 us of FLOPs, (1e4 + 1e6 + 1e4) x 2 B = 2.04 us: a share of 0.0980392, so
// 10 x (1 + 0.25 x 0.0980392) = 10.24509804 us.
TEST(SustainedClock, SlowsWhatComputes) {
  Gpu g;
  g.bf16 = FlopsPerSecond(100e12);
  g.memory_bandwidth = BytesPerSecond(1e12);
  EXPECT_NEAR(sustained_time(us(10), g, GemmKind::bf16, 1000, 1000, 1000, 0.8).value * 1e6, 12.5, 1e-9);
  EXPECT_NEAR(sustained_time(us(10), g, GemmKind::bf16, 10, 1000, 1000, 0.8).value * 1e6, 10.24509804, 1e-8);
  EXPECT_DOUBLE_EQ(sustained_time(us(10), g, GemmKind::bf16, 10, 1000, 1000, 1).value, us(10).value);
}

}  // namespace
}  // namespace rollcast
