#include "calibrate/fit_moe.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "measured_rows.hpp"
#include "models/catalog/catalog.hpp"

namespace rollcast {
namespace {

TEST(FitMoe, TakesTheShortestOfEachShapeOfItsDistribution) {
  Gpu g;
  g.name = "g";
  g.bf16 = TFLOPs(1);
  g.memory_bandwidth = GB_per_s(10);
  Sample s;
  s.gpu = "g";
  s.operation = "moe";
  s.dtype = "bf16";
  s.variant = "kernel balanced";
  s.shape = {16, 64, 32, 8, 2, 1, 1};
  s.seconds = us(100);
  Sample other = s;
  other.seconds = us(80);
  Sample skewed = s;
  skewed.variant = "power_law_1.2";
  skewed.seconds = us(50);
  MoeFit const fit = fit_moe(g, GemmKind::bf16, "balanced", {s, other, skewed}, {s, skewed});
  EXPECT_EQ(fit.rows, 2);
  EXPECT_DOUBLE_EQ(fit.table.shortest.value, 8e-5);
  EXPECT_NEAR(price(fit.table, g, {64, 32, 8, 2, 1, 1}, 16).value, 8e-5, 1e-12);
  EXPECT_EQ(fit.held_out.rows, 1);
  EXPECT_NEAR(fit.held_out.median, 0.2, 1e-9);
  EXPECT_TRUE(fit_moe(g, GemmKind::fp8, "balanced", {s}, {}).table.shapes.empty());
}

struct MeasuredCase {
  char const* gpu;
  char const* file;
  GemmKind kind;
  char const* distribution;
  double median;
  double p90;
};

class MeasuredMoe : public ::testing::TestWithParam<MeasuredCase> {};

// There is no bar for experts: these hold what the fit reaches on whole shapes that it does not see.
TEST_P(MeasuredMoe, PredictsHeldOutShapes) {
  MeasuredCase const c = GetParam();
  if (!std::filesystem::exists(tests::measured_folder() / c.file)) GTEST_SKIP() << "no measured tables here";
  Gpu const gpu = *find_gpu(builtin_catalog(), c.gpu);
  tests::Rows rows;
  for (auto const& row : tests::read_csv(tests::measured_folder() / c.file)) {
    Sample s;
    s.gpu = c.gpu;
    s.operation = "moe";
    s.dtype = row.at("moe_dtype") == "bfloat16" ? "bf16" : row.at("moe_dtype");
    s.variant = row.at("distribution");
    std::string key = "moe";
    s.shape = {tests::number(row, "num_tokens")};
    for (char const* const name :
         {"hidden_size", "inter_size", "num_experts", "topk", "moe_tp_size", "moe_ep_size"}) {
      s.shape.push_back(tests::number(row, name));
      key += fmt::format("|{:.0f}", s.shape.back());
    }
    s.seconds = ms(tests::number(row, "latency"));
    (tests::holds_out(key) ? rows.held_out : rows.train).push_back(s);
  }
  MoeFit const fit = fit_moe(gpu, c.kind, c.distribution, rows.train, rows.held_out);
  std::string const text = to_text(fit.table);
  RecordProperty("bytes", static_cast<int>(text.size()));
  RecordProperty("held_out", fmt::format("{} rows {:.4f} {:.4f}", fit.held_out.rows, fit.held_out.median,
                                         fit.held_out.p90));
  EXPECT_GT(fit.held_out.rows, 400);
  EXPECT_LE(fit.held_out.median, c.median);
  EXPECT_LE(fit.held_out.p90, c.p90);
  EXPECT_LT(text.size(), 40'000u);
  Parsed<MoeTable> const read = moe_table_from(text);
  ASSERT_TRUE(read.value) << read.error;
  EXPECT_LE(residuals_of(moe_errors(*read.value, gpu, rows.train)).median, 0.01);
}

INSTANTIATE_TEST_SUITE_P(
    Tables, MeasuredMoe,
    ::testing::Values(MeasuredCase{"a100-sxm-80gb", "a100_sxm/moe/vllm/0.14.0/moe_perf.csv", GemmKind::bf16,
                                   "power_law_1.2", 0.085, 0.26},
                      MeasuredCase{"a100-sxm-80gb", "a100_sxm/moe/vllm/0.14.0/moe_perf.csv", GemmKind::bf16,
                                   "power_law_1.01", 0.085, 0.26},
                      MeasuredCase{"h100-sxm", "h100_sxm/moe/vllm/0.24.0/moe_perf.csv", GemmKind::bf16,
                                   "balanced", 0.04, 0.22},
                      MeasuredCase{"h100-sxm", "h100_sxm/moe/vllm/0.24.0/moe_perf.csv", GemmKind::bf16,
                                   "power_law_1.2", 0.05, 0.22},
                      MeasuredCase{"h100-sxm", "h100_sxm/moe/vllm/0.24.0/moe_perf.csv", GemmKind::fp8_block,
                                   "balanced", 0.03, 0.11},
                      MeasuredCase{"h100-sxm", "h100_sxm/moe/vllm/0.24.0/moe_perf.csv", GemmKind::fp8_block,
                                   "power_law_1.2", 0.04, 0.11}));

}  // namespace
}  // namespace rollcast
