#include "reports/html_timeline.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/reports/small_log.hpp"

namespace rollcast {
namespace {

TEST(HtmlTimeline, ShowsTheFirstFiveStepsAndSaysSo) {
  EventLog log = small_log();  // two steps, 0 to 220 s
  EXPECT_EQ(shown_steps(log).name, "steps 1 to 2");
  EXPECT_DOUBLE_EQ(shown_steps(log).range.end.value, 220);
  for (int i = 2; i < 7; ++i)
    log.steps.push_back({.start = seconds(100 * i + 20), .end = seconds(100 * i + 120)});
  EXPECT_EQ(shown_steps(log).name, "steps 1 to 5 of 7");
  EXPECT_DOUBLE_EQ(shown_steps(log).range.end.value, 520);
  // A run that ends otherwise: what led to it. Four of the seven completed steps, then whatever the log has.
  log.outcome = Outcome::stalled;
  log.happenings.push_back({seconds(900), seconds(1500), HappeningKind::waits, 0, {1}, "waits"});
  EXPECT_EQ(shown_steps(log).name, "from step 4 to the end");
  EXPECT_DOUBLE_EQ(shown_steps(log).range.start.value, 320);
  EXPECT_DOUBLE_EQ(shown_steps(log).range.end.value, 1500);
}

TEST(HtmlTimeline, SegmentsAreWhatCountsAtEachMoment) {
  // Of ranks 0-1 in step 0: compute 0-60, compute 60-80, communication that it does not hide 80-85, wait
  // 85-90, copy 90-100.
  auto const rows = segments_of(small_log(), {0}, {Seconds(0), Seconds(100)});
  ASSERT_EQ(rows.size(), 1U);
  auto const& s = rows[0];
  ASSERT_EQ(s.size(), 5U);
  double const starts[] = {0, 60, 80, 85, 90};
  Activity const what[] = {Activity::compute, Activity::compute, Activity::communication,
                           Activity::collective_wait, Activity::copy};
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_DOUBLE_EQ(s[i].start.value, starts[i]);
    EXPECT_EQ(s[i].activity, what[i]);
  }
  EXPECT_EQ(s[0].phase, Phase::generate);
  EXPECT_EQ(s[1].phase, Phase::update_actor);
  EXPECT_DOUBLE_EQ(s[4].end.value, 100);
}

RowSegment segment(double start, double end, Activity a, Phase p = Phase::update_actor) {
  return {seconds(start), seconds(end), 0, p, a, {{a, static_cast<int>(a), 1}}};
}

TEST(HtmlTimeline, ShortNeighboursAreGatheredWithTheirShares) {
  std::vector<RowSegment> const fine = {segment(0, 10, Activity::compute), segment(10, 11, Activity::compute),
                                        segment(11, 11.5, Activity::pipeline_bubble),
                                        segment(11.5, 13, Activity::compute),
                                        segment(13, 14, Activity::copy, Phase::weight_sync)};
  auto const s = coarsened(fine, seconds(5), false);
  ASSERT_EQ(s.size(), 3U);
  EXPECT_DOUBLE_EQ(s[0].end.value, 10);
  // 10 to 13: 2.5 s of compute, 0.5 s of bubble. The copy is of another phase.
  EXPECT_DOUBLE_EQ(s[1].start.value, 10);
  EXPECT_DOUBLE_EQ(s[1].end.value, 13);
  EXPECT_EQ(s[1].activity, Activity::compute);
  ASSERT_EQ(s[1].mix.size(), 2U);
  EXPECT_DOUBLE_EQ(s[1].mix[0].share, 2.5 / 3);
  EXPECT_EQ(s[1].mix[1].activity, Activity::pipeline_bubble);
  EXPECT_EQ(s[2].phase, Phase::weight_sync);
  EXPECT_EQ(coarsened(fine, seconds(5), true).size(), 2U);
}

// Classes of `count` ranks in two pools; each computes for a time of its own.
EventLog many_classes(int count, std::vector<int> const& slow) {
  EventLog log;
  log.pools.resize(2);
  log.pools[0].name = "a";
  log.pools[1].name = "b";
  log.labels = {"forward"};
  for (int c = 0; c < count; ++c) {
    log.rank_classes.push_back({"rank " + std::to_string(c), c % 2, 0, {c / 2}});
    bool const is_slow = std::find(slow.begin(), slow.end(), c) != slow.end();
    Span s;
    s.rank_class = c;
    s.phase = Phase::update_actor;
    s.end = seconds((is_slow ? 150 : 100) + 0.001 * (c % 7));
    log.spans.push_back(s);
  }
  return log;
}

TEST(HtmlTimeline, RowsStandForAllClassesAndKeepTheOddOnes) {
  EventLog const log = many_classes(1000, {501, 640});
  auto const rows = rows_by_likeness(log, 8, {77});
  ASSERT_EQ(rows.size(), 8U);
  std::vector<int> seen(1000, 0);
  std::vector<int> centres;
  for (TimelineRow const& r : rows) {
    centres.push_back(r.rank_class);
    EXPECT_EQ(r.ranks, static_cast<int>(r.classes.size()));
    for (int c : r.classes) {
      ++seen[static_cast<std::size_t>(c)];
      EXPECT_EQ(c % 2, r.rank_class % 2) << "classes of two pools in a row";
    }
    // Six thousandths are the most that the others differ by.
    EXPECT_LE(r.spread.value, 0.0061);
  }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), 1000);
  for (int odd : {77, 501, 640}) EXPECT_EQ(std::count(centres.begin(), centres.end(), odd), 1) << odd;
  EXPECT_EQ(rows_by_likeness(many_classes(8, {}), 8).size(), 8U);
}

TEST(HtmlTimeline, NeverMoreSegmentsThanAskedFor) {
  EventLog log = many_classes(20, {});
  log.spans.clear();
  for (int c = 0; c < 20; ++c) {
    for (int i = 0; i < 5000; ++i) {
      Span s;
      s.rank_class = c;
      s.phase = i % 3 == 0 ? Phase::generate : Phase::update_actor;
      s.activity = static_cast<Activity>(i % 9);
      s.start = seconds(i * 0.5);
      s.end = seconds(i * 0.5 + 0.4);
      log.spans.push_back(s);
    }
  }
  for (std::size_t most : {2000U, 100U}) {
    StepTimeline const t = step_timeline(log, 10, most);
    std::size_t count = 0;
    for (TimelineRow const& r : t.rows) {
      count += r.segments.size();
      ASSERT_FALSE(r.segments.empty());
      EXPECT_DOUBLE_EQ(r.segments.front().start.value, 0);
      EXPECT_DOUBLE_EQ(r.segments.back().end.value, 2499.9);
    }
    EXPECT_LE(count, most);
    EXPECT_GT(t.grain.value, 0);
  }
  EXPECT_DOUBLE_EQ(step_timeline(small_log(), 10, 1000).grain.value, 0);
}

TEST(HtmlTimeline, AnEmptyLogHasNoRows) {
  StepTimeline const t = step_timeline(EventLog{}, 10, 100);
  EXPECT_TRUE(t.rows.empty());
  EXPECT_DOUBLE_EQ(t.shown.range.end.value, 0);
}

}  // namespace
}  // namespace rollcast
