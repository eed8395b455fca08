// Hugging Face generate against the generation phases of R22: the rows that its host times were fitted on.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <iostream>

#include "calibrate/static_phases.hpp"
#include "models/engine_versions.hpp"

namespace rollcast {
namespace {

TEST(HuggingFaceGeneration, PublishedPhasesAreWithinTenPercent) {
  for (StaticCase const& c : static_cases()) {
    double const seconds = forecast(c, *overhead_of_version(EngineKind::hf, "")).value;
    std::cout << fmt::format("{:<32} {:.0f} s, measured {:.0f} s\n", c.name, seconds, c.measured.value);
    EXPECT_LT(std::fabs(seconds / c.measured.value - 1), 0.1) << c.name;
  }
}

// Within the half millisecond that the fit tells apart, as the shipped one is rounded.
TEST(HuggingFaceGeneration, TheShippedStepIsTheFit) {
  EXPECT_NEAR(fit_static("").step.value, overhead_of_version(EngineKind::hf, "")->step.value, 0.51e-3);
}

// Each of the others says nearly the same.
TEST(HuggingFaceGeneration, NoCaseDecidesTheFit) {
  double const all = fit_static("").step.value;
  for (StaticCase const& c : static_cases())
    EXPECT_NEAR(fit_static(c.name).step.value, all, 1.6e-3) << c.name;
}

}  // namespace
}  // namespace rollcast
