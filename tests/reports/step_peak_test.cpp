#include "reports/step_peak.hpp"

#include <gtest/gtest.h>

namespace rollcast {
namespace {

TEST(StepPeak, OnlyItsOwnFigureAsksForTheDealtMicroBatches) {
  Scenario s;
  EXPECT_FALSE(measures_step_peak(s));
  s.measured = Measured{};
  s.measured->values = {{"step_seconds", 30}, {"peak_torch_memory_gib", 1}};
  EXPECT_FALSE(measures_step_peak(s));
  s.measured->values.push_back({"peak_step_torch_memory_gib", 1});
  EXPECT_TRUE(measures_step_peak(s));
}

}  // namespace
}  // namespace rollcast
