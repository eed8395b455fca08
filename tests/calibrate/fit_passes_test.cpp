#include "calibrate/fit_passes.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "models/catalog/catalog.hpp"

namespace rollcast {
namespace {

Gpu const& gpu() { return *find_gpu(builtin_catalog(), "h200-sxm"); }

Sample row(double tokens, double width, Seconds time) {
  Sample s;
  s.gpu = gpu().name;
  s.operation = "memory_pass";
  s.variant = "norm";
  s.dtype = "bf16";
  s.shape = {tokens, width};
  s.seconds = time;
  return s;
}

// Every number of this law differs from where the search begins.
TEST(FitPasses, ALawIsFoundAgain) {
  PassLaw const law{ElementwisePass::norm, us(3), seconds(4e-10), seconds(3e-9), 2.2, 0.4};
  std::vector<Sample> train, held;
  for (double const width : {1024.0, 4096.0, 16384.0}) {
    for (double tokens = 1; tokens <= 65536; tokens *= 2) {
      train.push_back(row(tokens, width, pass_time(law, gpu(), tokens, width)));
      held.push_back(row(std::floor(tokens * 1.4), width * 1.3,
                         pass_time(law, gpu(), std::floor(tokens * 1.4), width * 1.3)));
    }
  }
  PassFit const fit = fit_passes(gpu(), ElementwisePass::norm, train, held);
  EXPECT_EQ(fit.rows, 51);
  EXPECT_EQ(fit.held_out.rows, 51);
  EXPECT_LT(fit.held_out.median, 0.02);
  EXPECT_LT(fit.held_out.p90, 0.05);
}

TEST(FitPasses, OtherKindsAndGpusAreLeftOut) {
  std::vector<Sample> rows = {row(1, 4096, us(2)), row(2, 4096, us(2)), row(4, 4096, us(2)),
                              row(8, 4096, us(2))};
  rows[0].gpu = "h100-sxm";
  rows[1].variant = "rope";
  EXPECT_EQ(fit_passes(gpu(), ElementwisePass::norm, rows, {}).rows, 0);  // two points are no law
  rows[1].variant = "norm";
  EXPECT_EQ(fit_passes(gpu(), ElementwisePass::norm, rows, {}).rows, 3);
}

}  // namespace
}  // namespace rollcast
