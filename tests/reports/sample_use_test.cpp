#include "reports/sample_use.hpp"

#include <gtest/gtest.h>

#include "tests/reports/small_log.hpp"

namespace rollcast {
namespace {

// Two steps: 12 samples fresh, 4 one update old: 4 / 16; 8 of 16 with a signal; 1 - 17600 / 22000.
TEST(SampleUse, SumsOverTheSteps) {
  SampleUse const use = sample_use(small_log().steps);
  EXPECT_EQ(use.staleness, (std::vector<std::int64_t>{12, 4}));
  EXPECT_DOUBLE_EQ(use.mean_staleness.value_or(-1), 0.25);
  EXPECT_EQ(use.generated, 20);
  EXPECT_EQ(use.trained, 16);
  EXPECT_EQ(use.with_signal, std::optional<std::int64_t>(8));
  EXPECT_NEAR(use.padding_waste.value_or(-1), 0.2, 1e-12);
}

TEST(SampleUse, ListsOfDifferentLengthAddUp) {
  std::vector<StepRecord> steps(3);
  steps[0].staleness = {1};
  steps[1].staleness = {0, 2, 3};
  SampleUse const use = sample_use(steps);
  EXPECT_EQ(use.staleness, (std::vector<std::int64_t>{1, 2, 3}));
  EXPECT_DOUBLE_EQ(use.mean_staleness.value_or(-1), 8.0 / 6);  // 2 x 1 + 3 x 2
}

TEST(SampleUse, WhatIsNotToldIsAbsent) {
  SampleUse const use = sample_use({});
  EXPECT_TRUE(use.staleness.empty());
  EXPECT_FALSE(use.mean_staleness || use.with_signal || use.padding_waste);
}

}  // namespace
}  // namespace rollcast
