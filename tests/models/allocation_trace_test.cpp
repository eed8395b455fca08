#include "models/allocation_trace.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace rollcast {
namespace {

AllocationEvent allocate(std::int64_t id, std::int64_t bytes, std::int64_t stream = 0) {
  return {AllocationKind::allocate, id, bytes, stream, 0, -1};
}
AllocationEvent event(AllocationKind kind, std::int64_t id = 0, std::int64_t bytes = 0) {
  return {kind, id, bytes, 0, 0, -1};
}
AllocationEvent at(std::int64_t time, AllocationEvent e) {
  e.time_us = time;
  return e;
}

Replay run(std::vector<AllocationEvent> events, std::int64_t total = 100 * kMiB) {
  CachingAllocator allocator({}, total);
  return replay({std::move(events), {}}, allocator);
}

// MiB after each event: 3 of 20; and 30 of 50; 30 in use; 30 of 50; the segment of 20 goes.
TEST(AllocationTrace, GivesMemoryOverTime) {
  Replay const r = run({at(10, allocate(1, 3 * kMiB)), at(20, allocate(2, 30 * kMiB)),
                        at(30, event(AllocationKind::free, 1)), at(40, event(AllocationKind::empty_cache))});
  ASSERT_EQ(r.timeline.size(), 4U);
  std::vector<std::int64_t> const allocated = {3, 33, 30, 30};
  std::vector<std::int64_t> const reserved = {20, 50, 50, 30};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(r.timeline[i].time_us, 10 * static_cast<std::int64_t>(i + 1));
    EXPECT_EQ(r.timeline[i].allocated, allocated[i] * kMiB);
    EXPECT_EQ(r.timeline[i].reserved, reserved[i] * kMiB);
  }
  EXPECT_EQ(r.stats.peak_allocated, 33 * kMiB);
  EXPECT_EQ(r.stats.peak_reserved, 50 * kMiB);
  EXPECT_FALSE(r.failed_event.has_value());
}

TEST(AllocationTrace, EndsAtTheFirstOutOfMemory) {
  Replay const r = run({allocate(1, 80 * kMiB), allocate(2, 30 * kMiB), allocate(3, 1)});
  EXPECT_EQ(r.failed_event, 1U);
  ASSERT_TRUE(r.out_of_memory.has_value());
  EXPECT_EQ(r.out_of_memory->free, 20 * kMiB);
  EXPECT_EQ(r.timeline.size(), 2U);
}

// An engine of another process wakes up with 30 while 80 of 100 are reserved: it is the one that fails. With
// the cache emptied first it does not.
TEST(AllocationTrace, OthersMayFindNoRoom) {
  std::vector<AllocationEvent> events = {allocate(1, 80 * kMiB), event(AllocationKind::free, 1),
                                         event(AllocationKind::set_other_process, 42, 30 * kMiB)};
  Replay const r = run(events);
  EXPECT_EQ(r.failed_event, 2U);
  EXPECT_FALSE(r.out_of_memory.has_value());
  events.insert(events.begin() + 2, event(AllocationKind::empty_cache));
  EXPECT_FALSE(run(events).failed_event.has_value());
}

// Non-torch memory and another process count against the 100: 40 + 30 leave 30. Both change over time.
TEST(AllocationTrace, TheLimitChangesOverTime) {
  std::vector<AllocationEvent> events = {event(AllocationKind::set_non_torch, 0, 40 * kMiB),
                                         event(AllocationKind::set_other_process, 42, 30 * kMiB),
                                         event(AllocationKind::set_other_process, 42, 10 * kMiB),
                                         allocate(1, 50 * kMiB)};
  EXPECT_FALSE(run(events).failed_event.has_value());
  events.erase(events.begin() + 2);
  Replay const r = run(events);
  EXPECT_EQ(r.failed_event, 2U);
  EXPECT_EQ(r.out_of_memory->free, 30 * kMiB);
  EXPECT_EQ(r.out_of_memory->other_processes, (std::vector<ProcessBytes>{{42, 30 * kMiB}}));
}

// Expandable segments off and on again within a run: a segment of 30 between two mappings of 20.
TEST(AllocationTrace, SwitchesExpandableSegmentsAndPools) {
  Replay const r =
      run({event(AllocationKind::expandable_segments, 0, 1), allocate(1, 20 * kMiB),
           event(AllocationKind::expandable_segments, 0, 0), allocate(2, 30 * kMiB),
           event(AllocationKind::begin_pool, 5), allocate(3, 20 * kMiB), event(AllocationKind::end_pool, 5),
           event(AllocationKind::free, 3), event(AllocationKind::empty_cache),
           event(AllocationKind::release_pool, 5), event(AllocationKind::empty_cache)});
  EXPECT_EQ(r.stats.calls.maps, 1);
  EXPECT_EQ(r.stats.calls.mallocs, 2);
  EXPECT_EQ(r.timeline[8].reserved, 70 * kMiB);
  EXPECT_EQ(r.timeline[10].reserved, 50 * kMiB);
}

TEST(AllocationTrace, ABrokenTraceIsALogicError) {
  EXPECT_THROW(run({event(AllocationKind::free, 1)}), std::logic_error);
  EXPECT_THROW(run({allocate(1, 5), allocate(1, 5)}), std::logic_error);
  EXPECT_NO_THROW(run({allocate(1, 0), event(AllocationKind::free, 1)}));
}

}  // namespace
}  // namespace rollcast
