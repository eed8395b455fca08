#include "calibrate/fit_numbers.hpp"

#include <gtest/gtest.h>

#include "calibrate/fit_clock.hpp"
#include "calibrate/fit_gemm.hpp"
#include "models/catalog/catalog.hpp"

namespace rollcast {
namespace {

Gpu const& gpu() { return *find_gpu(builtin_catalog(), "h200-sxm"); }

Sample sample(std::string const& operation, std::string const& variant, std::vector<double> shape,
              Seconds time) {
  Sample s;
  s.gpu = gpu().name;
  s.operation = operation;
  s.variant = variant;
  s.dtype = "bf16";
  s.shape = std::move(shape);
  s.seconds = time;
  return s;
}

Sample product(double m, double n, std::string const& version, double over_burst) {
  Sample s =
      sample("gemm", "sustained", {m, n, 4096}, over_burst * (Flops(2 * m * n * 4096) / (gpu().bf16 * 0.5)));
  s.version = version;
  return s;
}

// In bursts half of the peak. One software takes 1 / 0.8 as long, with more rows, the other 1 / 0.9: 0.85.
// Rows of 1,024 tokens, of n = 512 and of no sustained clock would say 0.5 and are not looked at.
TEST(FitClock, IsTheMeanOfTheSoftwaresMedians) {
  std::vector<Sample> burst, train;
  for (double const m : {1024.0, 2048.0, 4096.0}) {
    for (double const n : {512.0, 2048.0, 4096.0}) {
      Sample s = product(m, n, "table", 1);
      s.variant = "";
      burst.push_back(s);
      bool const counts = m > 1024 && n > 1024;
      train.push_back(product(m, n, "a", counts ? 1 / 0.8 : 2));
      train.push_back(train.back());
      train.push_back(product(m, n, "b", counts ? 1 / 0.9 : 2));
      s.seconds = s.seconds * 2;
      train.push_back(s);
    }
  }
  GemmFit const table = fit_gemm(gpu(), GemmKind::bf16, burst, {});
  ClockFit const fit = fit_clock(gpu(), table.table, train, {product(2048, 2048, "a", 1 / 0.85)});
  EXPECT_EQ(fit.rows, 12);
  EXPECT_NEAR(fit.clock, 0.85, 0.001);
  EXPECT_EQ(fit.held_out.rows, 1);
  EXPECT_NEAR(fit.held_out.median, 0, 0.001);
  EXPECT_EQ(fit_clock(gpu(), table.table, {}, {}).rows, 0);
}

// The forward takes 2 us. Alone the backward takes 5 us: 2.5 times; with its forward 8 us: 3 times; a row of
// less than the forward says nothing. The lower of two middles is 2.5; 6 us of a backward were 5 us then.
TEST(FitNumbers, BackwardOverForward) {
  std::vector<Predictor> const forward = {
      {"attention_prefill", [](Sample const&) -> std::optional<Seconds> { return us(2); }, {}}};
  std::vector<double> const shape = {1, 4096, 32, 8, 128};
  NumberFit const fit = fit_backward_over_forward(
      forward,
      {sample("attention_backward", "", shape, us(5)), sample("attention_backward", "forward", shape, us(8)),
       sample("attention_backward", "forward", shape, us(1)), sample("copy", "h2d", {1e6}, us(1))},
      {sample("attention_backward", "", shape, us(6))});
  EXPECT_EQ(fit.rows, 2);
  EXPECT_DOUBLE_EQ(fit.value, 2.5);
  EXPECT_NEAR(fit.held_out.median, 1.0 / 6, 1e-12);
  EXPECT_EQ(forward_of(sample("attention_backward", "", shape, us(5))).shape,
            (std::vector<double>{1, 4096, 0, 32, 8, 128}));
}

// 64 MB at the rate of the link take t; at 0.5 and 0.75 of it 2 t and t / 0.75. Peer copies and small ones do
// not count.
TEST(FitNumbers, CopiesAndLaunches) {
  Seconds const t = bytes(64e6) / gpu().pcie;
  NumberFit const pcie =
      fit_pcie(gpu(), {sample("copy", "h2d", {64e6}, t / 0.75), sample("copy", "d2h", {64e6}, t / 0.5),
                       sample("copy", "h2d", {64e6}, t / 0.75), sample("copy", "peer", {64e6}, t / 10),
                       sample("copy", "h2d", {1e6}, t)});
  EXPECT_EQ(pcie.rows, 3);
  EXPECT_NEAR(pcie.value, 0.75, 1e-12);
  std::vector<Sample> const launches = {sample("launch", "stream", {10}, us(100)),
                                        sample("launch", "stream", {1000}, us(4000)),
                                        sample("launch", "graph", {1000}, us(1500))};
  EXPECT_NEAR(fit_launch("stream", launches).value, 4e-6, 1e-15);
  EXPECT_NEAR(fit_launch("graph", launches).value, 1.5e-6, 1e-15);
  EXPECT_EQ(fit_launch("enqueue", launches).rows, 0);
}

}  // namespace
}  // namespace rollcast
