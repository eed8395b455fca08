#include "reports/timeline.hpp"

#include <gtest/gtest.h>

namespace rollcast {
namespace {

EventLog log_with(std::vector<std::tuple<Activity, double, double>> const& spans) {
  EventLog log;
  log.rank_classes = {{"rank 0", 0, 0, {0}}};
  for (auto const& [activity, start, end] : spans)
    log.spans.push_back({0, 0, Stream::compute, Phase::generate, activity, 0, seconds(start), seconds(end),
                         Flops(0), Bytes(0)});
  return log;
}

TEST(Timeline, WorkHidesWaitsAndComputeHidesCommunication) {
  // compute 0-4, communication 2-6, wait 5-9: compute 0-4, communication 4-6, wait 6-9.
  auto const lines = timelines(log_with(
      {{Activity::collective_wait, 5, 9}, {Activity::communication, 2, 6}, {Activity::compute, 0, 4}}));
  ASSERT_EQ(lines.size(), 1U);
  ASSERT_EQ(lines[0].size(), 3U);
  EXPECT_EQ(lines[0][1].activity, Activity::communication);
  EXPECT_DOUBLE_EQ(lines[0][1].start.value, 4);
  EXPECT_DOUBLE_EQ(lines[0][1].end.value, 6);
  EXPECT_EQ(lines[0][2].activity, Activity::collective_wait);
}

TEST(Timeline, NeighboursOfOneActivityJoinAndGapsStay) {
  auto const lines =
      timelines(log_with({{Activity::compute, 0, 1}, {Activity::compute, 1, 2}, {Activity::compute, 3, 4}}));
  ASSERT_EQ(lines[0].size(), 2U);
  EXPECT_DOUBLE_EQ(lines[0][0].end.value, 2);
  EXPECT_DOUBLE_EQ(lines[0][1].start.value, 3);
}

TEST(Timeline, TimesAreCutAtTheWindow) {
  // compute 0-4 and copy 6-10 within [3, 7): 1 s each.
  auto const lines = timelines(log_with({{Activity::compute, 0, 4}, {Activity::copy, 6, 10}}));
  auto const times = time_by_activity(lines[0], seconds(3), seconds(7));
  EXPECT_DOUBLE_EQ(times[index_of(Activity::compute)].value, 1);
  EXPECT_DOUBLE_EQ(times[index_of(Activity::copy)].value, 1);
  EXPECT_DOUBLE_EQ(times[index_of(Activity::driver)].value, 0);
}

TEST(Timeline, SpansWithoutLengthLeaveNoTrace) {
  EXPECT_TRUE(timelines(log_with({{Activity::compute, 2, 2}}))[0].empty());
}

}  // namespace
}  // namespace rollcast
