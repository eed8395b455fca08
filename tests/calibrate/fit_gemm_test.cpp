#include "calibrate/fit_gemm.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "measured_rows.hpp"
#include "models/catalog/catalog.hpp"

namespace rollcast {
namespace {

Sample gemm(double m, double n, double k, double time) {
  Sample s;
  s.gpu = "g";
  s.operation = "gemm";
  s.dtype = "bf16";
  s.shape = {m, n, k};
  s.seconds = seconds(time);
  return s;
}

// 1e12 FLOP/s and 1e12 B/s.
Gpu plain_gpu() {
  Gpu g;
  g.name = "g";
  g.bf16 = TFLOPs(1);
  g.memory_bandwidth = TB_per_s(1);
  return g;
}

TEST(FitGemm, TakesTheMedianOfEachShapeAndLeavesOutWhatIsNotAsked) {
  // 2 x 64 x 64 x 64 FLOP: 524.288 ns; bytes 2 x 3 x 4096: 24.6 ns. Twice that: log 2.
  double const roof = 2.0 * 64 * 64 * 64 / 1e12;
  std::vector<Sample> rows = {gemm(64, 64, 64, 2 * roof), gemm(64, 64, 64, 9 * roof), gemm(64, 64, 64, roof)};
  Sample other = gemm(64, 64, 128, roof);
  other.gpu = "h";
  rows.push_back(other);
  other = gemm(64, 64, 128, roof);
  other.dtype = "fp8";
  rows.push_back(other);
  GemmFit const fit = fit_gemm(plain_gpu(), GemmKind::bf16, rows, {gemm(64, 64, 64, roof)});
  EXPECT_EQ(fit.rows, 3);
  ASSERT_EQ(fit.table.log_ratio.size(), 1u);
  EXPECT_NEAR(fit.table.log_ratio[0], std::log(2.0), 1e-12);
  EXPECT_EQ(fit.held_out.rows, 1);
  EXPECT_NEAR(fit.held_out.median, 1, 1e-9);  // priced 2 roof, measured 1
}

TEST(FitGemm, FindsTheExponentsOutsideTheGrid) {
  // time = m^0.5 n^2 k^0.25: n is cut to 1.
  std::vector<Sample> rows;
  for (double const m : {16, 32, 64}) {
    for (double const n : {64, 128}) {
      for (double const k : {64, 128}) {
        rows.push_back(gemm(m, n, k, 1e-6 * std::sqrt(m) * n * n * std::pow(k, 0.25)));
      }
    }
  }
  GemmFit const fit = fit_gemm(plain_gpu(), GemmKind::bf16, rows, {});
  EXPECT_NEAR(fit.table.below[0], 0.5, 1e-9);
  EXPECT_NEAR(fit.table.above[0], 0.5, 1e-9);
  EXPECT_NEAR(fit.table.below[1], 1, 1e-9);
  EXPECT_NEAR(fit.table.above[2], 0.25, 1e-9);
}

TEST(FitGemm, WithoutRowsIsEmpty) {
  GemmFit const fit = fit_gemm(plain_gpu(), GemmKind::bf16, {}, {});
  EXPECT_EQ(fit.rows, 0);
  EXPECT_TRUE(fit.table.log_ratio.empty());
}

struct MeasuredCase {
  char const* gpu;
  char const* file;
  GemmKind kind;
  double median;
  double p90;
};

class MeasuredGemm : public ::testing::TestWithParam<MeasuredCase> {
 protected:
  static tests::Rows rows(MeasuredCase const& c) {
    tests::Rows rows;
    for (auto const& row : tests::read_csv(tests::measured_folder() / c.file)) {
      std::string const dtype = row.at("gemm_dtype") == "bfloat16" ? "bf16" : row.at("gemm_dtype");
      if (dtype != name_of(c.kind)) continue;
      Sample s = gemm(tests::number(row, "m"), tests::number(row, "n"), tests::number(row, "k"),
                      tests::number(row, "latency") * 1e-3);
      s.gpu = c.gpu;
      s.dtype = dtype;
      bool const held = tests::holds_out(fmt::format("gemm|{:.0f}|{:.0f}", s.shape[1], s.shape[2]));
      (held ? rows.held_out : rows.train).push_back(s);
    }
    return rows;
  }
};

// Bars on (n, k) pairs that the fit does not see.
TEST_P(MeasuredGemm, PredictsHeldOutPairs) {
  MeasuredCase const c = GetParam();
  if (!std::filesystem::exists(tests::measured_folder() / c.file)) GTEST_SKIP() << "no measured tables here";
  Gpu const gpu = *find_gpu(builtin_catalog(), c.gpu);
  tests::Rows const all = rows(c);
  GemmFit const fit = fit_gemm(gpu, c.kind, all.train, all.held_out);
  RecordProperty("rows", fit.held_out.rows);
  RecordProperty("median", fmt::format("{:.4f}", fit.held_out.median));
  RecordProperty("p90", fmt::format("{:.4f}", fit.held_out.p90));
  EXPECT_GT(fit.held_out.rows, 4000);
  EXPECT_LE(fit.held_out.median, c.median);
  EXPECT_LE(fit.held_out.p90, c.p90);

  std::string const text = to_text(fit.table);
  EXPECT_LT(text.size(), 100'000u);
  Parsed<GemmTable> const read = gemm_table_from(text);
  ASSERT_TRUE(read.value) << read.error;
  GemmPrices const prices(*read.value, gpu);
  Residuals const rounded = residuals_of(gemm_errors(prices, gpu, c.kind, all.held_out));
  EXPECT_LE(rounded.median, c.median);
  EXPECT_LE(rounded.p90, c.p90);
  // What the table holds comes back: only making it ascending moves it.
  EXPECT_LE(residuals_of(gemm_errors(prices, gpu, c.kind, all.train)).median, 0.005);
}

// Time never falls when work grows at aligned sizes, on the measured GPU and on one derived from it.
TEST_P(MeasuredGemm, NeverFallsAtAlignedSizes) {
  MeasuredCase const c = GetParam();
  if (c.kind == GemmKind::fp8_block) GTEST_SKIP() << "block-scaled fp8 is not ascending in truth";
  if (!std::filesystem::exists(tests::measured_folder() / c.file)) GTEST_SKIP() << "no measured tables here";
  Gpu const gpu = *find_gpu(builtin_catalog(), c.gpu);
  GemmFit const fit = fit_gemm(gpu, c.kind, rows(c).train, {});
  for (char const* const name : {c.gpu, "h200-sxm"}) {
    GemmPrices const prices(fit.table, *find_gpu(builtin_catalog(), name));
    std::vector<double> const sizes = {128,  192,  256,  320,   512,   896,   1024,
                                       2944, 4096, 5376, 11008, 28672, 50304, 128256};
    std::vector<double> const tokens = {1,   2,   3,   7,   8,   12,   16,   32,   48,   96,
                                        256, 272, 384, 512, 528, 1008, 4096, 4368, 8000, 65536};
    for (double const n : sizes) {
      for (double const k : sizes) {
        double before = 0;
        for (double const m : tokens) {
          double const time = prices.at(m, n, k).value;
          EXPECT_GE(time, before * (1 - 1e-12)) << m << " " << n << " " << k;
          EXPECT_GE(prices.at(m, n + 64, k).value, time * (1 - 1e-12)) << m << " " << n << " " << k;
          EXPECT_GE(prices.at(m, n, k + 64).value, time * (1 - 1e-12)) << m << " " << n << " " << k;
          before = time;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Tables, MeasuredGemm,
                         ::testing::Values(MeasuredCase{"a100-sxm-80gb",
                                                        "a100_sxm/gemm/sglang/0.5.10/gemm_perf.csv",
                                                        GemmKind::bf16, 0.05, 0.15},
                                           MeasuredCase{"h100-sxm", "h100_sxm/gemm/vllm/0.24.0/gemm_perf.csv",
                                                        GemmKind::bf16, 0.04, 0.12},
                                           MeasuredCase{"h100-sxm", "h100_sxm/gemm/vllm/0.24.0/gemm_perf.csv",
                                                        GemmKind::fp8, 0.04, 0.12},
                                           MeasuredCase{"h100-sxm", "h100_sxm/gemm/vllm/0.24.0/gemm_perf.csv",
                                                        GemmKind::fp8_block, 0.06, 0.18}));

}  // namespace
}  // namespace rollcast
