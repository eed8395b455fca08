// What happens when no free block fits. Sizes in the comments are MiB.
#include <gtest/gtest.h>

#include "models/allocator.hpp"

namespace rollcast {
namespace {

// 40 + 40 of 100, the first freed. 50 does not fit into it nor into the 20 that are left: cudaMalloc fails
// once, the free 40 goes back, cudaMalloc succeeds.
TEST(AllocatorRetry, GivesTheCacheBackAndAsksAgain) {
  CachingAllocator a({}, 100 * kMiB);
  int const first = a.allocate(40 * kMiB).block;
  a.allocate(40 * kMiB);
  a.free(first);
  EXPECT_NE(a.allocate(50 * kMiB).block, kNoBlock);
  EXPECT_EQ(a.stats().reserved, 90 * kMiB);
  EXPECT_EQ(a.stats().num_alloc_retries, 1);
  EXPECT_EQ(a.stats().num_ooms, 0);
  EXPECT_EQ(a.stats().calls.mallocs, 3);
  EXPECT_EQ(a.stats().calls.failed_mallocs, 1);
  EXPECT_EQ(a.stats().calls.frees, 1);
  EXPECT_EQ(a.stats().calls.synchronizations, 1);
}

// Of 100: 5 the context, 10 another process; 3 in a segment of 20, 30 in one of 30. Free: 35. 36 fails twice;
// the free 17 of the segment of 20 cannot go back.
TEST(AllocatorRetry, OutOfMemoryIsAValueWithTheFiguresOfTheMessage) {
  CachingAllocator a({}, 100 * kMiB, {5 * kMiB, {{4711, 10 * kMiB}}});
  a.allocate(3 * kMiB);
  a.allocate(30 * kMiB);
  Allocation const failed = a.allocate(35 * kMiB + 1);
  EXPECT_EQ(failed.block, kNoBlock);
  ASSERT_TRUE(failed.out_of_memory.has_value());
  OutOfMemory const& oom = *failed.out_of_memory;
  EXPECT_EQ(oom.requested, 35 * kMiB + 1);
  EXPECT_EQ(oom.block, 35 * kMiB + 512);
  EXPECT_EQ(oom.tried, 36 * kMiB);
  EXPECT_EQ(oom.total, 100 * kMiB);
  EXPECT_EQ(oom.free, 35 * kMiB);
  EXPECT_EQ(oom.process, 55 * kMiB);
  EXPECT_EQ(oom.allocated, 33 * kMiB);
  EXPECT_EQ(oom.reserved_unallocated, 17 * kMiB);
  EXPECT_FALSE(oom.allowed.has_value());
  EXPECT_TRUE(identities_hold(oom));
  EXPECT_EQ(a.stats().num_ooms, 1);
  EXPECT_EQ(a.stats().calls.failed_mallocs, 2);
  EXPECT_EQ(
      message(oom, 3),
      "CUDA out of memory. Tried to allocate 36.00 MiB. GPU 3 has a total capacity of 100.00 MiB of "
      "which 35.00 MiB is free. Process 4711 has 10.00 MiB memory in use. Including non-PyTorch memory, "
      "this process has 55.00 MiB memory in use. Of the allocated memory 33.00 MiB is allocated by "
      "PyTorch, and 17.00 MiB is reserved by PyTorch but unallocated.");
}

// The program may catch it, free something and go on.
TEST(AllocatorRetry, TheAllocatorGoesOnAfterwards) {
  CachingAllocator a({}, 100 * kMiB);
  int const most = a.allocate(80 * kMiB).block;
  EXPECT_TRUE(a.allocate(30 * kMiB).out_of_memory.has_value());
  a.free(most);
  EXPECT_NE(a.allocate(30 * kMiB).block, kNoBlock);
}

// 70.25 GiB of this process are 60.49 in use, 6.77 reserved and 2.99 outside PyTorch.
TEST(AllocatorRetry, TheMessageRoundsAsPyTorchDoes) {
  EXPECT_EQ(torch_size(1024), "1024 bytes");
  EXPECT_EQ(torch_size(1025), "1.00 KiB");
  EXPECT_EQ(torch_size(kMiB), "1024.00 KiB");
  EXPECT_EQ(torch_size(1024 * kMiB), "1024.00 MiB");
  EXPECT_EQ(torch_size(1025 * kMiB), "1.00 GiB");
  EXPECT_EQ(torch_size(75430363955), "70.25 GiB");
}

// A fraction of 0.5 of 100 allows 50, whatever is free; the driver is not asked.
TEST(AllocatorRetry, AMemoryFractionEndsBeforeTheDevice) {
  AllocatorConfig c;
  c.per_process_memory_fraction = 0.5;
  CachingAllocator a(c, 100 * kMiB);
  a.allocate(40 * kMiB);
  OutOfMemory const oom = a.allocate(20 * kMiB).out_of_memory.value();
  EXPECT_EQ(oom.allowed, 50 * kMiB);
  EXPECT_EQ(oom.free, 60 * kMiB);
  EXPECT_EQ(a.stats().calls.failed_mallocs, 0);
  EXPECT_NE(message(oom, 0).find(" in use. 50.00 MiB allowed; Of the allocated"), std::string::npos);
}

// What others hold may change: with 50 more in use elsewhere 40 no longer fits, and the others cannot have
// what is not there.
TEST(AllocatorRetry, TheLimitFollowsWhatOthersHold) {
  CachingAllocator a({}, 100 * kMiB);
  a.allocate(20 * kMiB);
  EXPECT_TRUE(a.set_device_use({0, {{1, 50 * kMiB}}}));
  EXPECT_EQ(a.free_bytes(), 30 * kMiB);
  EXPECT_TRUE(a.allocate(40 * kMiB).out_of_memory.has_value());
  EXPECT_FALSE(a.set_device_use({0, {{1, 81 * kMiB}}}));
  EXPECT_EQ(a.free_bytes(), 30 * kMiB);
  EXPECT_TRUE(a.set_device_use({}));
  EXPECT_NE(a.allocate(40 * kMiB).block, kNoBlock);
}

AllocatorConfig splitting_below(std::int64_t size) {
  AllocatorConfig c;
  c.max_split_size = size;
  return c;
}

// max_split_size 32; 40, 64 and 80 free, 16 of 200 left. 90: no block is large enough; 80 and 64 go back, 40
// stays, 90 fits, without a retry.
TEST(AllocatorRetry, OversizeSegmentsGoBackFromTheLargest) {
  CachingAllocator a(splitting_below(32 * kMiB), 200 * kMiB);
  int const blocks[] = {a.allocate(40 * kMiB).block, a.allocate(64 * kMiB).block,
                        a.allocate(80 * kMiB).block};
  for (int const b : blocks) a.free(b);
  EXPECT_NE(a.allocate(90 * kMiB).block, kNoBlock);
  EXPECT_EQ(a.stats().reserved, 130 * kMiB);
  EXPECT_EQ(a.stats().calls.frees, 2);
  EXPECT_EQ(a.stats().num_alloc_retries, 0);
}

// The same, but 43 is asked for: 64 is more than 20 too large to be used, but it alone makes room: 40 + 80
// + 44.
TEST(AllocatorRetry, OneOversizeSegmentIsEnoughIfItIsLargeEnough) {
  CachingAllocator a(splitting_below(32 * kMiB), 200 * kMiB);
  int const small = a.allocate(40 * kMiB).block;
  int const middle = a.allocate(64 * kMiB).block;
  int const large = a.allocate(80 * kMiB).block;
  for (int const b : {small, middle, large}) a.free(b);
  EXPECT_NE(a.allocate(43 * kMiB).block, kNoBlock);
  EXPECT_EQ(a.stats().reserved, 164 * kMiB);
  EXPECT_EQ(a.stats().calls.frees, 1);
}

// Allowed: 100 of 200, threshold 0.6: 60. a = 30 and b = 30 (searches 1, 2); a freed at 2; c = 40 at search
// 3, 60 are reserved, nothing to collect; b and c freed at 3. d = 50 at search 4: 40 of 100 are too many.
// Ages 2, 1, 1, average 4/3: a goes (30 < 40); average 1: b and c go too.
TEST(AllocatorRetry, GarbageCollectionTakesTheOldestFirst) {
  AllocatorConfig c;
  c.per_process_memory_fraction = 0.5;
  c.garbage_collection_threshold = 0.6;
  CachingAllocator a(c, 200 * kMiB);
  int const first = a.allocate(30 * kMiB).block;
  int const second = a.allocate(30 * kMiB).block;
  a.free(first);
  int const third = a.allocate(40 * kMiB).block;
  EXPECT_EQ(a.stats().calls.frees, 0);
  a.free(second);
  a.free(third);
  a.allocate(50 * kMiB);
  EXPECT_EQ(a.stats().calls.frees, 3);
  EXPECT_EQ(a.stats().reserved, 50 * kMiB);
  EXPECT_EQ(a.stats().calls.synchronizations, 0);
}

// The same with a threshold of 0.7, b still in use, and 20 on another stream for d: 30 of 100 are too many.
// Ages of a and c are 2 and 1, average 1.5: a goes, and 30 are enough.
TEST(AllocatorRetry, GarbageCollectionStopsAtItsTarget) {
  AllocatorConfig c;
  c.per_process_memory_fraction = 0.5;
  c.garbage_collection_threshold = 0.7;
  CachingAllocator a(c, 200 * kMiB);
  int const first = a.allocate(30 * kMiB).block;
  a.allocate(30 * kMiB);
  a.free(first);
  int const third = a.allocate(40 * kMiB).block;
  a.free(third);
  a.allocate(20 * kMiB, 1);
  EXPECT_EQ(a.stats().calls.frees, 1);
  EXPECT_EQ(a.stats().reserved, 90 * kMiB);
}

// During a capture the cache is not given back: the free 40 of the default pool does not help.
TEST(AllocatorRetry, ACaptureDoesNotEmptyTheCache) {
  CachingAllocator a({}, 100 * kMiB);
  a.free(a.allocate(60 * kMiB).block);
  a.begin_pool(1);
  OutOfMemory const oom = a.allocate(50 * kMiB).out_of_memory.value();
  EXPECT_EQ(oom.reserved_unallocated, 60 * kMiB);
  EXPECT_EQ(a.stats().num_alloc_retries, 0);
  a.free(a.allocate(30 * kMiB).block);
  OutOfMemory const second = a.allocate(40 * kMiB).out_of_memory.value();
  EXPECT_EQ(second.private_pools, 30 * kMiB);
  EXPECT_EQ(second.allocated, 30 * kMiB);
  EXPECT_EQ(second.reserved_unallocated, 60 * kMiB);
  EXPECT_TRUE(identities_hold(second));
  EXPECT_NE(message(second, 0).find("with 30.00 MiB allocated in private pools"), std::string::npos);
}

}  // namespace
}  // namespace rollcast
