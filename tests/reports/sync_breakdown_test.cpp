#include "reports/sync_breakdown.hpp"

#include <gtest/gtest.h>

#include "models/weight_sync.hpp"
#include "reports/analysis.hpp"
#include "reports/expectation.hpp"
#include "reports/json.hpp"
#include "reports/terminal.hpp"
#include "tests/reports/small_log.hpp"

namespace rollcast {
namespace {

// The small log's syncs of 10 s, with a loader of 9 s that runs beside 4 s of sending on class 0.
EventLog with_parts() {
  EventLog log = small_log();
  int const wire = static_cast<int>(log.labels.size());
  log.labels.emplace_back(name_of(SyncCause::wire));
  log.labels.emplace_back(name_of(SyncCause::load));
  for (int step = 0; step < 2; ++step) {
    Seconds const start = log.steps[static_cast<std::size_t>(step)].end - seconds(10);
    log.spans.push_back({0,
                         step,
                         Stream::communication,
                         Phase::weight_sync,
                         Activity::communication,
                         wire,
                         start,
                         start + seconds(4),
                         {},
                         {}});
    log.spans.push_back({0,
                         step,
                         Stream::host,
                         Phase::weight_sync,
                         Activity::overhead,
                         wire + 1,
                         start + seconds(1),
                         start + seconds(10),
                         {},
                         {}});
    log.spans.push_back({0,
                         step,
                         Stream::compute,
                         Phase::weight_sync,
                         Activity::phase_wait,
                         wire + 1,
                         start,
                         start + seconds(10),
                         {},
                         {}});
  }
  return log;
}

TEST(SyncBreakdown, TellsEachPartPerStep) {
  auto const b = sync_breakdown(with_parts());
  ASSERT_TRUE(b);
  // Class 0 copies 10 s in its own log already; waiting is no part.
  ASSERT_EQ(b->causes.size(), 3U);
  EXPECT_DOUBLE_EQ(b->causes[0].time.value, 10);
  EXPECT_EQ(b->causes[1].cause, name_of(SyncCause::wire));
  EXPECT_DOUBLE_EQ(b->causes[1].time.value, 4);
  EXPECT_EQ(b->causes[2].cause, name_of(SyncCause::load));
  EXPECT_DOUBLE_EQ(b->causes[2].time.value, 9);
  EXPECT_DOUBLE_EQ(b->wire.value, 4);
}

TEST(SyncBreakdown, NothingWithoutTheSpans) {
  EventLog log = small_log();
  std::erase_if(log.spans, [](Span const& s) { return s.phase == Phase::weight_sync; });
  EXPECT_FALSE(sync_breakdown(log));
  EXPECT_NE(json_text(analyse(log)).find("\"weight_sync\": null"), std::string::npos);
}

TEST(SyncBreakdown, ReportsTellTheRatioToTheWire) {
  Analysis const a = analyse(with_parts());
  ASSERT_TRUE(sync_over_wire(a));
  EXPECT_DOUBLE_EQ(*sync_over_wire(a), 2.5);
  EXPECT_NE(json_text(a).find("\"over_wire\": 2.5"), std::string::npos);
  std::string const text = render_terminal(a, {});
  EXPECT_NE(text.find("Weight sync, 10.0 s a step, 2.5 x its wire alone"), std::string::npos) << text;
  EXPECT_NE(text.find("the engine's loader 9.00 s"), std::string::npos) << text;
  // Nothing is sent in the plain log.
  EXPECT_FALSE(sync_over_wire(analyse(small_log())));
}

TEST(SyncBreakdown, AnExpectationSaysHowMuchMoreThanTheWire) {
  Analysis const a = analyse(with_parts());
  Expected e;
  e.sync_over_wire = 2.4;
  EXPECT_TRUE(unmet(e, a).empty());
  e.sync_over_wire = 3;
  ASSERT_EQ(unmet(e, a).size(), 1U);
  EXPECT_EQ(unmet(e, a)[0], "weight sync over its wire: expected at least 3, got 2.5");
}

}  // namespace
}  // namespace rollcast
