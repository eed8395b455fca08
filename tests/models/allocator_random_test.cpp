// Random programs on allocators of many configurations: what must hold whatever they do.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "models/allocator.hpp"

namespace rollcast {
namespace {

struct Case {
  std::string name;
  std::string config;
  std::int64_t total = 0;
};

std::vector<Case> const kCases = {
    {"plain", "", 4096 * kMiB},
    {"tight", "", 600 * kMiB},
    {"expandable", "expandable_segments:True", 4096 * kMiB},
    {"expandable_tight", "expandable_segments:True", 600 * kMiB},
    {"max_split", "max_split_size_mb:40", 700 * kMiB},
    {"divisions", "roundup_power2_divisions:4", 700 * kMiB},
    {"garbage", "garbage_collection_threshold:0.6,per_process_memory_fraction:0.7", 900 * kMiB},
    {"expandable_max_split", "expandable_segments:True,max_split_size_mb:30", 600 * kMiB},
    {"small_segments", "large_segment_size_mb:12", 600 * kMiB},
};

// Every byte that is reserved belongs to one block; the blocks of a segment follow each other without gap or
// overlap; of two neighbours not both are free; a pool holds the free blocks and nothing else.
void check_blocks(CachingAllocator const& a) {
  BlockTable const& blocks = a.blocks();
  std::int64_t allocated = 0;
  std::int64_t mapped = 0;
  std::int64_t free_blocks = 0;
  std::map<std::int64_t, std::int64_t> spans;  // address and size
  for (int i = 0; i < blocks.slots(); ++i) {
    MemoryBlock const& b = blocks[i];
    if (b.size == 0) continue;
    ASSERT_TRUE(spans.emplace(b.address, b.size).second);
    if (b.mapped) mapped += b.size;
    if (b.allocated) {
      allocated += b.size;
      ASSERT_LE(b.requested, b.size);
    }
    ASSERT_TRUE(b.mapped || !b.allocated);
    if (!b.allocated) ++free_blocks;
    BlockPool const& pool = blocks.pool(b.pool);
    FreeBlock const key{b.stream, b.mapped ? b.size : 0, b.address, i};
    ASSERT_EQ((b.mapped ? pool.free : pool.unmapped).contains(key), !b.allocated);
    if (b.next == kNoBlock) continue;
    MemoryBlock const& next = blocks[b.next];
    ASSERT_EQ(next.previous, i);
    ASSERT_EQ(next.address, b.address + b.size);
    ASSERT_EQ(next.pool, b.pool);
    ASSERT_EQ(next.stream, b.stream);
    ASSERT_TRUE(b.allocated || next.allocated || b.mapped != next.mapped);
  }
  std::int64_t end = 0;
  for (auto const& [address, size] : spans) {
    ASSERT_GE(address, end);
    end = address + size;
  }
  std::int64_t held = 0;
  for (int const p : {0, 1}) {
    held += std::ssize(blocks.pool(p).free) + std::ssize(blocks.pool(p).unmapped);
  }
  ASSERT_EQ(held, free_blocks);
  ASSERT_EQ(mapped, a.stats().reserved);
  ASSERT_EQ(allocated, a.stats().allocated);
  ASSERT_LE(a.stats().requested, a.stats().allocated);
  ASSERT_LE(a.stats().allocated, a.stats().reserved);
  ASSERT_LE(a.stats().reserved, a.stats().peak_reserved);
  ASSERT_LE(a.stats().allocated, a.stats().peak_allocated);
  ASSERT_GE(a.free_bytes(), 0);
}

// Sizes as programs have them: many small ones, some of some MiB, few large ones.
std::int64_t random_size(std::mt19937_64& random) {
  int const power = static_cast<int>(random() % 27);
  return 1 + static_cast<std::int64_t>(random() % (std::uint64_t{2} << power));
}

class AllocatorRandom : public testing::TestWithParam<Case> {};

TEST_P(AllocatorRandom, KeepsItsBooks) {
  AllocatorConfig const config = parse_allocator_config(GetParam().config).config.value();
  std::int64_t ooms = 0;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    std::mt19937_64 random(seed);
    CachingAllocator a(config, GetParam().total, {20 * kMiB, {{1, 30 * kMiB}}});
    std::vector<int> live;
    for (int step = 0; step < 4000; ++step) {
      auto const dice = random() % 100;
      if (dice < 52 || live.empty()) {
        Allocation const got = a.allocate(random_size(random), static_cast<std::int64_t>(random() % 3));
        if (got.out_of_memory) {
          ++ooms;
          ASSERT_TRUE(identities_hold(*got.out_of_memory));
          ASSERT_EQ(got.out_of_memory->free, a.free_bytes());
        } else {
          ASSERT_GE(a.blocks()[got.block].size, a.blocks()[got.block].requested);
          live.push_back(got.block);
        }
      } else if (dice < 99) {
        std::size_t const which = random() % live.size();
        a.free(live[which]);
        live[which] = live.back();
        live.pop_back();
      } else {
        a.empty_cache();
      }
      if (step % 50 == 0) {
        ASSERT_NO_FATAL_FAILURE(check_blocks(a)) << "step " << step;
      }
    }
    ASSERT_NO_FATAL_FAILURE(check_blocks(a));
    for (int const block : live) a.free(block);
    EXPECT_EQ(a.stats().allocated, 0);
    EXPECT_EQ(a.stats().requested, 0);
    EXPECT_EQ(a.stats().allocations, 0);
    a.empty_cache();
    ASSERT_NO_FATAL_FAILURE(check_blocks(a));
    EXPECT_EQ(a.stats().reserved, 0);
    EXPECT_EQ(a.stats().segments, 0);
    EXPECT_EQ(a.stats().calls.mallocs, a.stats().calls.frees);
    EXPECT_EQ(a.stats().calls.maps, a.stats().calls.unmaps);
    EXPECT_EQ(a.free_bytes(), GetParam().total - 50 * kMiB);
  }
  // Those that are meant to run out of memory do.
  EXPECT_EQ(ooms > 0, GetParam().total < 4096 * kMiB) << ooms;
}

INSTANTIATE_TEST_SUITE_P(Configurations, AllocatorRandom, testing::ValuesIn(kCases),
                         [](auto const& c) { return c.param.name; });

// Blocks of a private pool are never given to others, and the pool returns all it held.
TEST(AllocatorPools, RandomCapturesStayApart) {
  std::mt19937_64 random(7);
  CachingAllocator a({}, 4096 * kMiB);
  std::vector<std::pair<int, int>> live;  // block, pool
  int pool = 0;
  for (int step = 0; step < 3000; ++step) {
    auto const dice = random() % 100;
    if (dice < 2) {
      if (pool > 0) a.end_pool(pool);
      pool = static_cast<int>(random() % 4);  // 0: none
      if (pool > 0) a.begin_pool(pool);
    } else if (dice < 50 || live.empty()) {
      int const block = a.allocate(random_size(random)).block;
      ASSERT_EQ(a.private_pool(block).value_or(0), pool);
      live.emplace_back(block, pool);
    } else {
      std::size_t const which = random() % live.size();
      ASSERT_EQ(a.private_pool(live[which].first).value_or(0), live[which].second);
      a.free(live[which].first);
      live[which] = live.back();
      live.pop_back();
    }
  }
  if (pool > 0) a.end_pool(pool);
  for (auto const& [block, of] : live) a.free(block);
  a.empty_cache();
  EXPECT_GT(a.stats().reserved, 0);
  EXPECT_EQ(a.stats().reserved, a.free_in_private_pools());
}

}  // namespace
}  // namespace rollcast
