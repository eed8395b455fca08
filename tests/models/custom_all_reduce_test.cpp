#include "models/custom_all_reduce.hpp"

#include <gtest/gtest.h>

#include "models/catalog/catalog.hpp"

namespace rollcast {
namespace {

Node node(std::string_view name) { return *find_node(builtin_catalog(), name); }

CustomAllReduceCalibration two_counts() {
  return {{{"h100-sxm", "vllm_graph", 2, GB_per_s(450), {{10, 4}, {20, 16}}, "a table"},
           {"h100-sxm", "vllm_graph", 8, GB_per_s(450), {{10, 9}, {20, 36}}, "a table"}}};
}

double micros(std::string_view name, int ranks, double bytes_moved) {
  auto const p = custom_all_reduce_price(two_counts(), node(name), "vllm_graph", ranks, bytes(bytes_moved));
  return p ? p->total().value * 1e6 : -1;
}

TEST(CustomAllReduce, LogLogBetweenKnotsAndCounts) {
  EXPECT_NEAR(micros("hgx-h100", 2, 32768), 8, 1e-9);           // half way in octaves: sqrt(4 x 16)
  EXPECT_NEAR(micros("hgx-h100", 2, 8), 4, 1e-9);               // constant below
  EXPECT_NEAR(micros("hgx-h100", 2, 4 * 1048576.0), 64, 1e-9);  // linear above
  EXPECT_NEAR(micros("hgx-h100", 4, 1024), 6, 1e-9);            // half way from 2 to 8: sqrt(4 x 9)
  EXPECT_NEAR(micros("hgx-h100", 1, 1024), 0, 1e-9);
}

TEST(CustomAllReduce, AnotherGpuAtEqualBytesOverNvlink) {
  // H800 has 200 of 450 GB/s: 1024 B x 200 / 450 there cost what 1024 B cost here, and so on.
  EXPECT_NEAR(micros("hgx-h800", 2, 32768.0 * 200 / 450), 8, 1e-9);
}

TEST(CustomAllReduce, NotWithoutNvswitchOrBackend) {
  EXPECT_LT(micros("pcie-l40s", 2, 1024), 0);
  EXPECT_LT(micros("hgx-h100", 16, 1024), 0);
  EXPECT_FALSE(custom_all_reduce_price(two_counts(), node("hgx-h100"), "other", 2, bytes(8)));
}

TEST(CustomAllReduce, NeverFallsWithBytes) {
  for (int const ranks : {2, 3, 4, 8}) {
    double before = 0;
    for (double b = 1; b < 1e10; b *= 1.3) {
      double const t = micros("hgx-h100", ranks, b);
      EXPECT_GE(t, before);
      before = t;
    }
  }
}

TEST(CustomAllReduce, Text) {
  std::string const text = to_text(two_counts());
  EXPECT_EQ(text.substr(0, text.find('\n')), "custom h100-sxm vllm_graph 2 450 10:4.00 20:16.00 # a table");
  auto const read = custom_all_reduce_from_text(text);
  ASSERT_TRUE(read.value) << read.error;
  EXPECT_EQ(to_text(*read.value), text);
  EXPECT_EQ(custom_all_reduce_from_text("custom h100-sxm vllm_graph 2 450 10:4 20:3").error,
            "line 1: octaves ascend, times do not fall");
  EXPECT_EQ(custom_all_reduce_from_text("custom h100-sxm vllm_graph 2 450 10:0").error,
            "line 1: '10:0' is no knot; write OCTAVE:US");
}

}  // namespace
}  // namespace rollcast
