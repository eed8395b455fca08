#include "sim/rollout_curve.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace rollcast {
namespace {

std::vector<EnginePoint> curve_of(int points) {
  std::vector<EnginePoint> out;
  for (int i = 0; i < points; ++i) out.push_back({seconds(i), i, 2 * i, 3 * i});
  return out;
}

TEST(RolloutCurve, PartsThatFollowEachOtherHaveEachPointOnce) {
  EventLog log;
  Recorder recorder(log);
  PhaseRecorder const phase{recorder, 0, Phase::generate};
  record_curve(phase, 5, curve_of(10), seconds(0), seconds(4));
  record_curve(phase, 5, curve_of(10), seconds(4), seconds(9));
  // Points 0 to 8, three counters each.
  ASSERT_EQ(log.counters.size(), 27U);
  for (std::size_t i = 0; i < 9; ++i) {
    Counter const& running = log.counters[3 * i];
    EXPECT_EQ(running.kind, CounterKind::running);
    EXPECT_EQ(running.rank_class, 5);
    EXPECT_DOUBLE_EQ(running.time.value, static_cast<double>(i));
    EXPECT_DOUBLE_EQ(log.counters[3 * i + 1].value, 2.0 * static_cast<double>(i));
    EXPECT_DOUBLE_EQ(log.counters[3 * i + 2].value, 3.0 * static_cast<double>(i));
  }
}

TEST(RolloutCurve, VeryManyPointsAreThinnedAndTheLastIsKept) {
  EventLog log;
  Recorder recorder(log);
  record_curve({recorder, 0, Phase::generate}, 0, curve_of(100'000), seconds(0), seconds(1e9));
  EXPECT_LE(log.counters.size(), 3U * 4096);
  EXPECT_GE(log.counters.size(), 3U * 4000);
  EXPECT_DOUBLE_EQ(log.counters.back().time.value, 99'999);
}

}  // namespace
}  // namespace rollcast
