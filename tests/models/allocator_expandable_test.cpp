// Expandable segments. Sizes in the comments are MiB; a page of the large pool is 20.
#include <gtest/gtest.h>

#include "models/allocator.hpp"

namespace rollcast {
namespace {

AllocatorConfig expandable() {
  AllocatorConfig c;
  c.expandable_segments = true;
  return c;
}
void set_expandable(CachingAllocator& a, bool on) {
  AllocatorConfig c = a.config();
  c.expandable_segments = on;
  a.set_config(c);
}

std::int64_t address(CachingAllocator const& a, int block) { return a.blocks()[block].address; }

// 3 maps one page; 30 takes the 17 that are left of it and 13 of a second page, of which 7 remain.
TEST(AllocatorExpandable, ARangeGrowsByPages) {
  CachingAllocator a(expandable(), 1024 * kMiB);
  int const three = a.allocate(3 * kMiB).block;
  EXPECT_EQ(a.stats().reserved, 20 * kMiB);
  int const thirty = a.allocate(30 * kMiB).block;
  EXPECT_EQ(address(a, thirty), address(a, three) + 3 * kMiB);
  EXPECT_EQ(a.stats().reserved, 40 * kMiB);
  EXPECT_EQ(a.stats().calls.maps, 2);
  EXPECT_EQ(a.stats().calls.map_calls, 2);
  EXPECT_EQ(a.stats().calls.mallocs, 0);
  a.free(three);
  a.free(thirty);
  a.empty_cache();
  EXPECT_EQ(a.stats().reserved, 0);
  EXPECT_EQ(a.stats().calls.unmaps, 2);
  EXPECT_EQ(a.stats().calls.unmap_calls, 1);
}

// Blocks split exactly: without expandable segments 11.5 would be a block of 12.
TEST(AllocatorExpandable, LargeBlocksAreNotRoundedToSegments) {
  CachingAllocator a(expandable(), 1024 * kMiB);
  a.allocate(11 * kMiB + kMiB / 2);
  EXPECT_EQ(a.stats().allocated, 11 * kMiB + kMiB / 2);
  EXPECT_EQ(a.stats().reserved, 20 * kMiB);
  a.allocate(100);
  EXPECT_EQ(a.stats().reserved, 22 * kMiB);  // a page of the small pool
}

// 25 maps pages 0 and 1, 10 follows in page 1. With 25 freed, page 0 goes back, 5 of page 1 stay free. 22
// finds room at the start again: the page and those 5.
TEST(AllocatorExpandable, PagesThatAreWhollyFreeGoBackAndAreFilledAgain) {
  CachingAllocator a(expandable(), 1024 * kMiB);
  int const front = a.allocate(25 * kMiB).block;
  std::int64_t const start = address(a, front);
  int const behind = a.allocate(10 * kMiB).block;
  EXPECT_EQ(address(a, behind), start + 25 * kMiB);
  a.free(front);
  a.empty_cache();
  EXPECT_EQ(a.stats().reserved, 20 * kMiB);
  int const again = a.allocate(22 * kMiB).block;
  EXPECT_EQ(address(a, again), start);
  EXPECT_EQ(a.stats().reserved, 40 * kMiB);
}

// Three blocks of 30 fill 100 of 100 in 5 pages. With first and third freed no 45 is in one piece, but pages
// 0 and the last two go back and come again behind: 1.5 pages around the middle block stay.
TEST(AllocatorExpandable, UnmappedPagesServeOtherSizes) {
  CachingAllocator a(expandable(), 100 * kMiB);
  int const first = a.allocate(30 * kMiB).block;
  a.allocate(30 * kMiB);
  int const third = a.allocate(30 * kMiB).block;
  EXPECT_EQ(a.stats().reserved, 100 * kMiB);
  a.free(first);
  a.free(third);
  // The middle block is [30, 60); free are [0, 30) and [60, 100). 45 at [60, 105) wants one page more than
  // the device has; the cache gives [0, 20) and [60, 100) back, three pages; [60, 105) then takes three.
  EXPECT_NE(a.allocate(45 * kMiB).block, kNoBlock);
  EXPECT_EQ(a.stats().num_alloc_retries, 1);
  EXPECT_EQ(a.stats().reserved, 100 * kMiB);
  EXPECT_EQ(a.stats().calls.unmaps, 3);
}

// The best fit is by what a block can grow to: a free 30 in the middle is preferred to the open end of 20,
// whatever their sizes.
TEST(AllocatorExpandable, TheOpenEndIsLeftAlone) {
  CachingAllocator a(expandable(), 1024 * kMiB);
  int const middle = a.allocate(30 * kMiB).block;
  std::int64_t const start = address(a, middle);
  a.allocate(10 * kMiB);
  int const end = a.allocate(20 * kMiB).block;
  a.free(middle);
  a.free(end);
  int const next = a.allocate(15 * kMiB).block;
  EXPECT_EQ(address(a, next), start);
}

TEST(AllocatorExpandable, TurnedOffItsBlocksServeNoNewRequest) {
  CachingAllocator a(expandable(), 1024 * kMiB);
  a.free(a.allocate(30 * kMiB).block);
  set_expandable(a, false);
  a.allocate(30 * kMiB);
  EXPECT_EQ(a.stats().calls.mallocs, 1);
  EXPECT_EQ(a.stats().reserved, 70 * kMiB);
}

// PyTorch's test_max_split_expandable: 120 allowed, max_split_size 40. 40 each as a segment, in a range, as a
// segment: a fourth fails. All freed, 120 needs everything back: the two segments alone are 80.
TEST(AllocatorExpandable, MixesWithOversizeSegments) {
  AllocatorConfig c;
  c.max_split_size = 40 * kMiB;
  c.per_process_memory_fraction = 0.5;
  CachingAllocator a(c, 240 * kMiB);
  int const first = a.allocate(40 * kMiB).block;
  set_expandable(a, true);
  int const second = a.allocate(40 * kMiB).block;
  set_expandable(a, false);
  int const third = a.allocate(40 * kMiB).block;
  EXPECT_TRUE(a.allocate(40 * kMiB).out_of_memory.has_value());
  for (int const b : {first, second, third}) a.free(b);
  EXPECT_NE(a.allocate(120 * kMiB).block, kNoBlock);
  EXPECT_EQ(a.stats().reserved, 120 * kMiB);
  EXPECT_EQ(a.stats().num_alloc_retries, 2);
}

// PyTorch's test_garbage_collect_expandable: threshold 0.5 of 120. A free segment of 40 is collected, the
// range of 40 is not; 80 then grows it.
TEST(AllocatorExpandable, GarbageCollectionLeavesRanges) {
  AllocatorConfig c;
  c.garbage_collection_threshold = 0.5;
  c.per_process_memory_fraction = 0.5;
  CachingAllocator a(c, 240 * kMiB);
  int const segment = a.allocate(40 * kMiB).block;
  set_expandable(a, true);
  int const range = a.allocate(40 * kMiB).block;
  a.free(segment);
  a.free(range);
  EXPECT_NE(a.allocate(80 * kMiB).block, kNoBlock);
  EXPECT_EQ(a.stats().calls.frees, 1);
  EXPECT_EQ(a.stats().reserved, 80 * kMiB);
  EXPECT_EQ(a.stats().num_alloc_retries, 0);
}

// The device has no room for three pages: none is mapped, and the two identities hold.
TEST(AllocatorExpandable, AFailedMapMapsNothing) {
  CachingAllocator a(expandable(), 50 * kMiB);
  OutOfMemory const oom = a.allocate(45 * kMiB).out_of_memory.value();
  EXPECT_EQ(a.stats().reserved, 0);
  EXPECT_EQ(oom.tried, 46 * kMiB);
  EXPECT_EQ(oom.free, 50 * kMiB);
  EXPECT_TRUE(identities_hold(oom));
}

}  // namespace
}  // namespace rollcast
