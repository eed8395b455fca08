#include "models/memory_snapshot.hpp"

#include <gtest/gtest.h>

#include <random>

namespace rollcast {
namespace {

AllocationTrace small_trace() {
  AllocationTrace t;
  t.names = {"weights", "activations"};
  t.events = {{AllocationKind::allocate, 1, 3 * kMiB, 0, 10, 0},
              {AllocationKind::allocate, 2, 700, 0, 20, 1},
              {AllocationKind::allocate, 3, 30 * kMiB, 7, 30, 1},
              {AllocationKind::free, 3, 0, 0, 40, 1},
              {AllocationKind::empty_cache, 0, 0, 0, 50, -1}};
  return t;
}

// A segment of 20 MiB with 3 in use, one of 2 MiB with 1,024 B in use; that of 30 MiB came and went.
TEST(MemorySnapshot, ShowsSegmentsBlocksAndHistory) {
  CachingAllocator a({}, 100 * kMiB);
  a.record_history();
  AllocationTrace const trace = small_trace();
  replay(trace, a);
  MemorySnapshot const s = snapshot_of(a, trace.names, 1);

  ASSERT_EQ(s.segments.size(), 2U);
  SnapshotSegment const& large = s.segments[0];
  EXPECT_TRUE(large.large);
  EXPECT_EQ(large.device, 1);
  EXPECT_EQ(total_size(large), 20 * kMiB);
  EXPECT_EQ(allocated_size(large), 3 * kMiB);
  ASSERT_EQ(large.blocks.size(), 2U);
  EXPECT_EQ(large.blocks[0].state, BlockState::active_allocated);
  EXPECT_EQ(s.frames.at(static_cast<std::size_t>(large.blocks[0].frame)).function, "weights");
  EXPECT_EQ(large.blocks[1].address, large.address + 3 * kMiB);
  EXPECT_EQ(large.blocks[1].state, BlockState::inactive);
  SnapshotSegment const& small = s.segments[1];
  EXPECT_FALSE(small.large);
  EXPECT_EQ(active_size(small), 1024);
  EXPECT_EQ(requested_size(small), 700);

  ASSERT_EQ(s.device_traces.size(), 2U);
  EXPECT_TRUE(s.device_traces[0].empty());
  std::vector<AllocatorAction> actions;
  for (AllocatorEntry const& e : s.device_traces[1]) actions.push_back(e.action);
  using enum AllocatorAction;
  EXPECT_EQ(actions, (std::vector{segment_alloc, alloc, segment_alloc, alloc, segment_alloc, alloc,
                                  free_requested, free_completed, segment_free}));
  EXPECT_EQ(s.device_traces[1][5].stream, 7);
  EXPECT_EQ(s.device_traces[1][5].size, 30 * kMiB);
  EXPECT_EQ(s.device_traces[1][8].time_us, 50);
}

// A mapped part of a range is a segment: of [0, 40) MiB with 25 freed in front of 10 the page [0, 20) is
// gone.
TEST(MemorySnapshot, ShowsTheMappedPartsOfARange) {
  AllocatorConfig c;
  c.expandable_segments = true;
  CachingAllocator a(c, 1024 * kMiB);
  int const front = a.allocate(25 * kMiB).block;
  std::int64_t const start = a.blocks()[front].address;
  a.allocate(10 * kMiB);
  a.free(front);
  a.empty_cache();
  MemorySnapshot const s = snapshot_of(a, {}, 0);
  ASSERT_EQ(s.segments.size(), 1U);
  EXPECT_TRUE(s.segments[0].expandable);
  EXPECT_EQ(s.segments[0].address, start + 20 * kMiB);
  EXPECT_EQ(total_size(s.segments[0]), 20 * kMiB);
  EXPECT_EQ(s.segments[0].blocks.size(), 3U);
}

// A snapshot's trace, replayed, does again what the first allocator did.
TEST(MemorySnapshot, ReplaysToTheSameHistory) {
  for (bool const expandable : {false, true}) {
    AllocationTrace trace;
    std::mt19937_64 random(3);
    std::vector<std::int64_t> live;
    for (std::int64_t id = 0; id < 3000; ++id) {
      if (random() % 100 < 53 || live.empty()) {
        auto const bytes = static_cast<std::int64_t>(1 + random() % (std::uint64_t{2} << random() % 26));
        trace.events.push_back(
            {AllocationKind::allocate, id, bytes, static_cast<std::int64_t>(random() % 2), id, -1});
        live.push_back(id);
      } else {
        std::swap(live[random() % live.size()], live.back());
        trace.events.push_back({AllocationKind::free, live.back(), 0, 0, id, -1});
        live.pop_back();
      }
    }
    AllocatorConfig c;
    c.expandable_segments = expandable;
    CachingAllocator first(c, 64 * 1024 * kMiB);
    first.record_history();
    replay(trace, first);
    MemorySnapshot const s = snapshot_of(first, {}, 0);

    CachingAllocator second(s.config, 64 * 1024 * kMiB);
    second.record_history();
    replay(trace_of(s, 0), second);
    EXPECT_EQ(snapshot_of(second, {}, 0), s);
  }
}

// A recording that began late: A and B were there, A is freed in it, B is not.
TEST(MemorySnapshot, TheTraceBeginsWithWhatWasThere) {
  MemorySnapshot s;
  std::int64_t const base = 1 << 30;
  s.segments.push_back({0,
                        base,
                        0,
                        true,
                        false,
                        {0, 0},
                        {{base, 8 * kMiB, 0, BlockState::inactive, -1},
                         {base + 8 * kMiB, 12 * kMiB, 12 * kMiB - 5, BlockState::active_allocated, -1}}});
  using enum AllocatorAction;
  s.device_traces = {{{free_requested, base, 8 * kMiB, 0, 100, -1},
                      {free_completed, base, 8 * kMiB, 0, 100, -1},
                      {segment_alloc, 2 * base, 30 * kMiB, 0, 110, -1},
                      {alloc, 2 * base, 30 * kMiB, 0, 110, -1},
                      {free_completed, 2 * base, 30 * kMiB, 0, 120, -1},
                      {segment_free, 2 * base, 30 * kMiB, 0, 130, -1},
                      {snapshot, 0, 0, 0, 140, -1}}};
  AllocationTrace const t = trace_of(s, 0);
  ASSERT_EQ(t.events.size(), 6U);
  EXPECT_EQ(t.events[0].bytes, 8 * kMiB);
  EXPECT_EQ(t.events[1].bytes, 12 * kMiB - 5);
  EXPECT_EQ(t.events[2].kind, AllocationKind::free);
  EXPECT_EQ(t.events[2].id, t.events[0].id);
  EXPECT_EQ(t.events[3].bytes, 30 * kMiB);
  EXPECT_EQ(t.events[4].id, t.events[3].id);
  EXPECT_EQ(t.events[5].kind, AllocationKind::empty_cache);

  // Given back right before a segment is asked for, it was the allocator itself.
  s.device_traces[0].back() = {segment_alloc, 3 * base, 40 * kMiB, 0, 140, -1};
  EXPECT_EQ(trace_of(s, 0).events.size(), 5U);
  EXPECT_TRUE(trace_of(s, 4).events.empty());
}

}  // namespace
}  // namespace rollcast
