// Sizes in the comments are MiB.
#include "models/allocator.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace rollcast {
namespace {

CachingAllocator roomy() { return CachingAllocator({}, 1024 * kMiB); }

std::int64_t address(CachingAllocator const& a, int block) { return a.blocks()[block].address; }

TEST(Allocator, SmallRequestsShareASegmentOfTwoMebibytes) {
  CachingAllocator a = roomy();
  int const first = a.allocate(100).block;
  int const second = a.allocate(600).block;
  EXPECT_EQ(address(a, second), address(a, first) + 512);
  EXPECT_EQ(a.stats().allocated, 512 + 1024);
  EXPECT_EQ(a.stats().requested, 700);
  EXPECT_EQ(a.stats().reserved, 2 * kMiB);
  EXPECT_EQ(a.stats().calls.mallocs, 1);
}

// 3 out of 20 leaves 17; 9 out of it leaves 8; another 9 needs a second segment.
TEST(Allocator, RequestsFromOneToTenMebibytesCutSegmentsOfTwenty) {
  CachingAllocator a = roomy();
  int const three = a.allocate(3 * kMiB).block;
  int const nine = a.allocate(9 * kMiB).block;
  EXPECT_EQ(address(a, nine), address(a, three) + 3 * kMiB);
  EXPECT_EQ(a.stats().reserved, 20 * kMiB);
  a.allocate(9 * kMiB);
  EXPECT_EQ(a.stats().reserved, 40 * kMiB);
  EXPECT_EQ(a.stats().allocated, 21 * kMiB);
}

// 10 has a segment of 10. 10 and a byte has one of 12, and what is left, 2 less 512 B, is more than 1: split.
// 11.5 has one of 12 too; 0.5 is not split off, so that 12 are allocated.
TEST(Allocator, LargeRequestsHaveTheirOwnSegments) {
  CachingAllocator a = roomy();
  a.allocate(10 * kMiB);
  EXPECT_EQ(a.stats().reserved, 10 * kMiB);
  a.allocate(10 * kMiB + 1);
  EXPECT_EQ(a.stats().reserved, 22 * kMiB);
  EXPECT_EQ(a.stats().allocated, 20 * kMiB + 512);
  a.allocate(11 * kMiB + kMiB / 2);
  EXPECT_EQ(a.stats().reserved, 34 * kMiB);
  EXPECT_EQ(a.stats().allocated, 32 * kMiB + 512);
}

// A large block splits if more than 1 is left: a free 20 gives 18 and a rest of 2, but not 19.
TEST(Allocator, ARestOfOneMebibyteIsNotSplitOff) {
  CachingAllocator a = roomy();
  int const twenty = a.allocate(20 * kMiB).block;
  a.free(twenty);
  int const nineteen = a.allocate(19 * kMiB).block;
  EXPECT_EQ(a.stats().allocated, 20 * kMiB);
  a.free(nineteen);
  a.allocate(18 * kMiB);
  EXPECT_EQ(a.stats().allocated, 18 * kMiB);
  EXPECT_EQ(a.stats().reserved, 20 * kMiB);
}

TEST(Allocator, TakesTheSmallestThatFitsAndOfEqualOnesTheLowest) {
  CachingAllocator a = roomy();
  int const thirty = a.allocate(30 * kMiB).block;
  int const low = a.allocate(24 * kMiB).block;
  int const high = a.allocate(24 * kMiB).block;
  std::int64_t const lowest = address(a, low);
  a.free(high);
  a.free(thirty);
  a.free(low);
  int const reused = a.allocate(22 * kMiB).block;
  EXPECT_EQ(address(a, reused), lowest);
  EXPECT_EQ(a.stats().reserved, 78 * kMiB);
  EXPECT_EQ(a.stats().calls.mallocs, 3);
}

TEST(Allocator, BlocksStayWithTheirStream) {
  CachingAllocator a = roomy();
  a.free(a.allocate(30 * kMiB, 1).block);
  a.allocate(30 * kMiB, 2);
  EXPECT_EQ(a.stats().reserved, 60 * kMiB);
  a.allocate(30 * kMiB, 1);
  EXPECT_EQ(a.stats().reserved, 60 * kMiB);
}

// 6 + 6 + 6 + 2 of 20. Freed middle, first, third: 6; 12; 12 + 6 + 2 = 20, which a request of 10 proves.
TEST(Allocator, FreedBlocksJoinTheirNeighbours) {
  CachingAllocator a = roomy();
  int const first = a.allocate(6 * kMiB).block;
  std::int64_t const start = address(a, first);
  int const second = a.allocate(6 * kMiB).block;
  int const third = a.allocate(6 * kMiB).block;
  a.free(second);
  a.free(first);
  int const twelve = a.allocate(12 * kMiB).block;
  EXPECT_EQ(address(a, twelve), start);
  EXPECT_EQ(a.stats().reserved, 20 * kMiB);
  a.free(third);
  a.free(twelve);
  int const whole = a.allocate(20 * kMiB).block;
  EXPECT_EQ(address(a, whole), start);
  a.free(whole);
  a.empty_cache();
  EXPECT_EQ(a.stats().reserved, 0);
  EXPECT_EQ(a.stats().segments, 0);
}

TEST(Allocator, ASegmentInPartlyUseStaysWhenTheCacheIsEmptied) {
  CachingAllocator a = roomy();
  int const kept = a.allocate(3 * kMiB).block;
  int const other = a.allocate(30 * kMiB).block;
  a.free(other);
  a.empty_cache();
  EXPECT_EQ(a.stats().reserved, 20 * kMiB);
  EXPECT_EQ(a.stats().peak_reserved, 50 * kMiB);
  EXPECT_EQ(a.stats().calls.frees, 1);
  a.free(kept);
  a.reset_peaks();
  EXPECT_EQ(a.stats().peak_allocated, 0);
  EXPECT_EQ(a.stats().peak_reserved, 20 * kMiB);
}

// max_split_size 32: a free 64 is oversize. 20 may not have it; 44 would waste 20, so neither; 50 takes it
// whole.
TEST(Allocator, OversizeBlocksServeOnlyOversizeRequests) {
  AllocatorConfig c;
  c.max_split_size = 32 * kMiB;
  CachingAllocator a(c, 1024 * kMiB);
  a.free(a.allocate(64 * kMiB).block);
  a.allocate(20 * kMiB);
  EXPECT_EQ(a.stats().reserved, 84 * kMiB);
  a.allocate(44 * kMiB);
  EXPECT_EQ(a.stats().reserved, 128 * kMiB);
  a.allocate(50 * kMiB);
  EXPECT_EQ(a.stats().reserved, 128 * kMiB);
  EXPECT_EQ(a.stats().allocated, 128 * kMiB);
}

TEST(Allocator, ARequestOfNothingHoldsNothing) {
  CachingAllocator a = roomy();
  Allocation const none = a.allocate(0);
  EXPECT_EQ(none.block, kNoBlock);
  EXPECT_FALSE(none.out_of_memory.has_value());
  EXPECT_EQ(a.stats().reserved, 0);
}

TEST(Allocator, MisuseIsALogicError) {
  CachingAllocator a = roomy();
  int const block = a.allocate(100).block;
  a.free(block);
  EXPECT_THROW(a.free(block), std::logic_error);
  EXPECT_THROW(a.free(kNoBlock), std::logic_error);
  EXPECT_THROW(a.allocate(-1), std::logic_error);
  EXPECT_THROW(a.end_pool(1), std::logic_error);
  EXPECT_THROW(a.release_pool(1), std::logic_error);
  EXPECT_THROW(CachingAllocator({}, 10, {11, {}}), std::logic_error);
}

// A pool of a graph: 3 of a segment of 20 of its own. What is free in it serves nobody else and stays until
// the graph is gone.
TEST(Allocator, PrivatePoolsKeepTheirMemory) {
  CachingAllocator a = roomy();
  a.begin_pool(7);
  int const in_graph = a.allocate(3 * kMiB).block;
  EXPECT_EQ(a.private_pool(in_graph), 7);
  a.end_pool(7);
  a.free(in_graph);
  int const outside = a.allocate(3 * kMiB).block;
  EXPECT_FALSE(a.private_pool(outside).has_value());
  EXPECT_EQ(a.stats().reserved, 40 * kMiB);
  EXPECT_EQ(a.free_in_private_pools(), 20 * kMiB);
  a.free(outside);
  a.empty_cache();
  EXPECT_EQ(a.stats().reserved, 20 * kMiB);
  a.begin_pool(7);  // a second graph shares it and reuses its block
  a.allocate(3 * kMiB);
  EXPECT_THROW(a.begin_pool(7), std::logic_error);
  a.end_pool(7);
  EXPECT_EQ(a.stats().reserved, 20 * kMiB);
  a.release_pool(7);
  a.release_pool(7);
  EXPECT_THROW(a.begin_pool(7), std::logic_error);
}

TEST(Allocator, AReleasedPoolGivesItsFreeSegmentsBack) {
  CachingAllocator a = roomy();
  a.begin_pool(7);
  a.free(a.allocate(3 * kMiB).block);
  a.empty_cache();  // while a graph is captured only released pools are emptied
  EXPECT_EQ(a.stats().reserved, 20 * kMiB);
  a.end_pool(7);
  a.release_pool(7);
  a.empty_cache();
  EXPECT_EQ(a.stats().reserved, 0);
}

}  // namespace
}  // namespace rollcast
