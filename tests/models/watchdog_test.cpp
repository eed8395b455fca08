#include "models/watchdog.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "models/random.hpp"

namespace rollcast {
namespace {

// T 600 s, poll 0.1 s, D 15 s, H 480 s.
WatchdogOptions with(ErrorHandling e) {
  WatchdogOptions o;
  o.error_handling = e;
  return o;
}

double value(std::optional<Seconds> const& t) { return t ? t->value : -1; }

void expect_end(RankEnd const& e, double detected, double dumped, double aborted, double dies) {
  EXPECT_NEAR(value(e.detected), detected, 1e-9);
  EXPECT_NEAR(value(e.dumped), dumped, 1e-9);
  EXPECT_NEAR(value(e.aborted), aborted, 1e-9);
  EXPECT_NEAR(value(e.dies), dies, 1e-9);
  EXPECT_FALSE(e.monitor.has_value());
}

// Enqueued at 1,000 s, seen half a poll after the time-out: 1,000 + 600 + 0.05. The dump key is seen a second
// later, the process goes after 4 x 15 s. -1: never.
TEST(Watchdog, SkipCleanUpDiesAfterFourDumpWaits) {
  expect_end(end_of_waiting(with(ErrorHandling::skip_clean_up), Seconds(1000), Seconds(0), 0.5), 1600.05,
             1601.05, -1, 1660.05);
}

TEST(Watchdog, TearDownAbortsAndDies) {
  expect_end(end_of_waiting(with(ErrorHandling::tear_down), Seconds(1000), Seconds(0), 0.5), 1600.05, 1601.05,
             1660.05, 1660.05);
}

TEST(Watchdog, CleanUpOnlyAbortsAndLives) {
  expect_end(end_of_waiting(with(ErrorHandling::clean_up_only), Seconds(1000), Seconds(0), 0.5), 1600.05,
             1601.05, 1660.05, -1);
}

TEST(Watchdog, WithoutErrorHandlingNothingHappens) {
  expect_end(end_of_waiting(with(ErrorHandling::none), Seconds(1000), Seconds(0), 0.5), -1, -1, -1, -1);
}

TEST(Watchdog, WithoutADumpNobodyWaitsForIt) {
  WatchdogOptions o = with(ErrorHandling::skip_clean_up);
  o.dump_on_timeout = false;
  expect_end(end_of_waiting(o, Seconds(1000), Seconds(0), 0), 1600, -1, -1, 1600);
  o.error_handling = ErrorHandling::tear_down;
  expect_end(end_of_waiting(o, Seconds(1000), Seconds(0), 0), 1600, -1, 1600, 1600);
  o.error_handling = ErrorHandling::clean_up_only;
  expect_end(end_of_waiting(o, Seconds(1000), Seconds(0), 0), 1600, -1, 1600, -1);
}

// An abort that hangs, after a dump: the monitor has seen the dump's key at 1,601 s and waits 480 s.
TEST(Watchdog, TheMonitorEndsAnAbortThatHangs) {
  for (ErrorHandling e : {ErrorHandling::tear_down, ErrorHandling::clean_up_only}) {
    WatchdogOptions o = with(e);
    o.abort_hangs = true;
    expect_end(end_of_waiting(o, Seconds(1000), Seconds(0), 0), 1600, 1601, -1, 2081);
    o.monitoring = false;
    expect_end(end_of_waiting(o, Seconds(1000), Seconds(0), 0), 1600, 1601, -1, -1);
    o.dump_on_timeout = false;
    expect_end(end_of_waiting(o, Seconds(1000), Seconds(0), 0), 1600, -1, -1, -1);
  }
}

// Nothing is aborted, so nothing hangs.
TEST(Watchdog, SkipCleanUpHasNoAbortToHang) {
  WatchdogOptions o = with(ErrorHandling::skip_clean_up);
  o.abort_hangs = true;
  expect_end(end_of_waiting(o, Seconds(1000), Seconds(0), 0), 1600, 1601, -1, 1660);
}

WatchdogOptions stuck() {
  WatchdogOptions o = with(ErrorHandling::clean_up_only);
  o.abort_hangs = true;
  o.dump_on_timeout = false;
  return o;
}

// The group began at 20 s: looks at 500, 980, 1,460, 1,940, 2,420 s. The last beat is at 1,600: 1,940 sees
// that one for the first time, 2,420 sees none since.
TEST(Watchdog, WithoutADumpTheMonitorComparesTwoLooks) {
  RankEnd const e = end_of_waiting(stuck(), Seconds(1000), Seconds(20), 0);
  EXPECT_NEAR(value(e.monitor), 2420, 1e-9);
  EXPECT_NEAR(value(e.dies), 2420, 1e-9);
  EXPECT_FALSE(e.aborted.has_value());
}

TEST(Watchdog, TheMonitorActsBetweenOneAndTwoHeartbeatsAfterTheLastBeat) {
  for (std::uint64_t i = 0; i < 10'000; ++i) {
    auto const draw = [&](std::uint32_t what) { return uniform({11, Purpose::fault, what, i}); };
    WatchdogOptions o = stuck();
    o.timeout = Seconds(1 + 7200 * draw(0));
    o.heartbeat = Seconds(1 + 1000 * draw(1));
    Seconds const start(100 * draw(2));
    RankEnd const e = end_of_waiting(o, start + Seconds(1e5 * draw(3)), start, draw(4));
    ASSERT_TRUE(e.monitor.has_value());
    double const silent = (*e.monitor - *e.detected).value;
    EXPECT_GE(silent, o.heartbeat.value - 1e-9);
    EXPECT_LT(silent, 2 * o.heartbeat.value + 1e-9);
    // A look of the monitor's.
    double const looks = (*e.monitor - start) / o.heartbeat;
    EXPECT_NEAR(looks, std::round(looks), 1e-6);
  }
}

// Times of one rank come in their order, whatever the options.
TEST(Watchdog, NothingComesBeforeItsCause) {
  for (std::uint64_t i = 0; i < 10'000; ++i) {
    auto const draw = [&](std::uint32_t what) { return uniform({12, Purpose::fault, what, i}); };
    WatchdogOptions o = with(static_cast<ErrorHandling>(static_cast<int>(4 * draw(0))));
    o.dump_on_timeout = draw(1) < 0.5;
    o.monitoring = draw(2) < 0.5;
    o.abort_hangs = draw(3) < 0.5;
    Seconds const since(1e4 * draw(4));
    RankEnd const e = end_of_waiting(o, since, Seconds(0), draw(5));
    if (!e.detected) {
      EXPECT_FALSE(e.dumped || e.monitor || e.aborted || e.dies);
      continue;
    }
    EXPECT_GE((*e.detected - since).value, 600 - 1e-9);
    EXPECT_LT((*e.detected - since).value, 600.1 + 1e-9);
    for (auto const& t : {e.dumped, e.monitor, e.aborted, e.dies}) {
      EXPECT_GE(t.value_or(*e.detected), *e.detected);
    }
    EXPECT_GE(e.dies.value_or(Seconds(1e9)), e.aborted.value_or(Seconds(0)));
  }
}

// Told at 1,600 s: written a second later, ended 480 s after that.
TEST(Watchdog, ARankThatIsToldEndsByItsMonitor) {
  expect_end(end_of_told({}, Seconds(1600)), -1, 1601, -1, 2081);
  WatchdogOptions o;
  o.monitoring = false;
  expect_end(end_of_told(o, Seconds(1600)), -1, 1601, -1, -1);
  o.dump_on_timeout = false;  // nobody tells it
  expect_end(end_of_told(o, Seconds(1600)), -1, -1, -1, -1);
  expect_end(end_of_told(with(ErrorHandling::none), Seconds(1600)), -1, -1, -1, -1);
}

TEST(Watchdog, ErrorModesHaveNames) {
  EXPECT_EQ(name_of(ErrorHandling::none), "none");
  EXPECT_EQ(name_of(ErrorHandling::tear_down), "tear_down");
  EXPECT_EQ(name_of(ErrorHandling::clean_up_only), "clean_up_only");
  EXPECT_EQ(name_of(ErrorHandling::skip_clean_up), "skip_clean_up");
}

}  // namespace
}  // namespace rollcast
