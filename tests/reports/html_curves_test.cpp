#include "reports/html_curves.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/reports/small_log.hpp"

namespace rollcast {
namespace {

TEST(HtmlCurves, EnginesKeepTheirExtremes) {
  EventLog log = small_log();
  log.counters.clear();
  auto const add = [&](int c, double time, double value) {
    log.counters.push_back(
        {c, CounterKind::running, Role::rollout, MemoryCategory::kv_pages, seconds(time), value});
  };
  // Engine 0: 4 from 0 to 10, 0 afterwards. Engine 1: 8 from 5 to 5.5 alone.
  add(0, 0, 4);
  add(0, 10, 0);
  add(1, 0, 0);
  add(1, 5, 8);
  add(1, 5.5, 0);
  auto const curves = engine_curves(log, {Seconds(0), Seconds(20)}, 2);
  ASSERT_EQ(curves.size(), 1U);
  EXPECT_EQ(curves[0].engines, 2U);
  // First cell, 10 s: (4 x 10 + 8 x 0.5) / (2 x 10).
  EXPECT_DOUBLE_EQ(curves[0].mean[0], 2.2);
  EXPECT_DOUBLE_EQ(curves[0].high[0], 8);
  EXPECT_DOUBLE_EQ(curves[0].low[0], 0);
  EXPECT_DOUBLE_EQ(curves[0].mean[1], 0);
  EXPECT_DOUBLE_EQ(curves[0].high[1], 0);
}

TEST(HtmlCurves, MemoryIsThatOfTheClassThatRunsOut) {
  EventLog log = small_log_with_oom();  // rank 3 is of class 1; both classes have one ledger
  log.counters.push_back(
      {1, CounterKind::memory, Role::actor, MemoryCategory::weights, seconds(0), GiB(20).value});
  log.counters.push_back(
      {1, CounterKind::memory, Role::actor, MemoryCategory::weights, seconds(60), GiB(70).value});
  log.counters.push_back({1, CounterKind::torch_reserved, Role::process, MemoryCategory::allocator_cache,
                          seconds(61), GiB(71).value});
  auto const curves = memory_curves(log, whole_range(log), 4, 100);
  ASSERT_EQ(curves.size(), 1U);
  EXPECT_EQ(curves[0].rank_class, 1);
  ASSERT_TRUE(curves[0].oom);
  ASSERT_EQ(curves[0].times.size(), 2U);
  EXPECT_DOUBLE_EQ(curves[0].series[0].bytes[1] / GiB(1), 70);
  ASSERT_EQ(curves[0].reserved.size(), 1U);
  EXPECT_DOUBLE_EQ(curves[0].reserved[0].second / GiB(1), 71);
}

TEST(HtmlCurves, ManyPointsBecomeFewThatKeepThePeak) {
  EventLog log = small_log();
  log.counters.clear();
  for (int i = 0; i < 50'000; ++i) {
    double const value = i == 31'337 ? 60 : i % 11;
    log.counters.push_back({0, CounterKind::memory, Role::actor, MemoryCategory::activations,
                            seconds(i * 0.004), GiB(value).value});
  }
  auto const curves = memory_curves(log, whole_range(log), 4, 200);
  ASSERT_EQ(curves.size(), 1U);
  EXPECT_LE(curves[0].times.size(), 200U);
  auto const& bytes = curves[0].series[0].bytes;
  EXPECT_DOUBLE_EQ(*std::max_element(bytes.begin(), bytes.end()) / GiB(1), 60);
  EXPECT_TRUE(std::is_sorted(curves[0].times.begin(), curves[0].times.end()));
}

TEST(HtmlCurves, LinksTellTheShareOfGpusThatTransfer) {
  // Per step the all-reduce of ranks 0-1 takes 10 s, the load of ranks 0-1 10 s and of ranks 2-3 8 s: of four
  // GPUs over 220 s and two steps.
  auto const uses = link_uses(small_log(), {Seconds(0), Seconds(220)}, 220, 8);
  ASSERT_EQ(uses.size(), 1U);
  ASSERT_EQ(uses[0].series.size(), 2U);
  LinkSeries const& load = uses[0].series[0];
  EXPECT_EQ(load.label, "load");
  EXPECT_EQ(load.stream, Stream::copy);
  EXPECT_DOUBLE_EQ(load.of_step.value, (2 * 10 + 2 * 8) / 4.0);
  EXPECT_NEAR(load.share_of_time, 2 * 9.0 / 220, 1e-12);
  EXPECT_NEAR(load.share[91], 1, 1e-9);    // all four
  EXPECT_NEAR(load.share[99], 0.5, 1e-9);  // ranks 2-3 are done at 98 s
  EXPECT_NEAR(load.share[50], 0, 1e-12);
  EXPECT_EQ(uses[0].series[1].label, "all-reduce");
  auto const few = link_uses(small_log(), {Seconds(0), Seconds(220)}, 220, 1);
  ASSERT_EQ(few[0].series.size(), 1U);
  EXPECT_EQ(few[0].series[0].label, "other");
  EXPECT_DOUBLE_EQ(few[0].series[0].of_step.value, 9 + 5);
}

}  // namespace
}  // namespace rollcast
