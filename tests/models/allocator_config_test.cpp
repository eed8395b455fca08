#include "models/allocator_config.hpp"

#include <gtest/gtest.h>

#include <string>

namespace rollcast {
namespace {

AllocatorConfig config(std::string const& text) {
  AllocatorConfigResult const r = parse_allocator_config(text);
  EXPECT_EQ(r.error, "");
  return r.config.value_or(AllocatorConfig{});
}
std::string error(std::string const& text) {
  AllocatorConfigResult const r = parse_allocator_config(text);
  EXPECT_FALSE(r.config.has_value()) << text;
  return r.error;
}

TEST(AllocatorConfig, BlocksAreMultiplesOf512Bytes) {
  AllocatorConfig const c;
  EXPECT_EQ(block_size(1, c), 512);
  EXPECT_EQ(block_size(512, c), 512);
  EXPECT_EQ(block_size(513, c), 1024);
  EXPECT_EQ(block_size(3 * kMiB + 1, c), 3 * kMiB + 512);
}

TEST(AllocatorConfig, SegmentsAreOfThreeKinds) {
  AllocatorConfig c;
  EXPECT_EQ(segment_size(512, c), 2 * kMiB);
  EXPECT_EQ(segment_size(kMiB, c), 2 * kMiB);
  EXPECT_EQ(segment_size(kMiB + 512, c), 20 * kMiB);
  EXPECT_EQ(segment_size(10 * kMiB - 512, c), 20 * kMiB);
  EXPECT_EQ(segment_size(10 * kMiB, c), 10 * kMiB);
  EXPECT_EQ(segment_size(10 * kMiB + 512, c), 12 * kMiB);
  c.large_segment_size = 12 * kMiB;
  EXPECT_EQ(segment_size(3 * kMiB, c), 12 * kMiB);
}

// The example of the comment in CUDACachingAllocator.cpp scaled by 512 KiB: 1200 lies between 1024 and 2048;
// four divisions there are 1024, 1280, 1536, 1792, so it becomes 1280.
TEST(AllocatorConfig, DivisionsRoundToPartsBetweenPowersOfTwo) {
  AllocatorConfig const c = config("roundup_power2_divisions:4");
  EXPECT_EQ(block_size(1200 * 524288LL, c), 1280 * 524288LL);
  EXPECT_EQ(block_size(1280 * 524288LL, c), 1280 * 524288LL);
  EXPECT_EQ(block_size(1800 * 524288LL, c), 2048 * 524288LL);
  EXPECT_EQ(block_size(1024 * 524288LL, c), 1024 * 524288LL);
  // Not above 512 B * 4: plain rounding. Above: between 2048 and 4096 the parts are 512 B.
  EXPECT_EQ(block_size(2048, c), 2048);
  EXPECT_EQ(block_size(2049, c), 2560);
}

// The sizes of PyTorch's test_allocator_settings: 21 Mi and 100 Mi floats are 84 and 400 MiB. With 4
// divisions 84 MiB -> 64 + 2 x 16; with 8 from 64 MiB on -> 64 + 3 x 8; 400 MiB with 4 from 256 MiB on -> 256
// + 3 x 64.
TEST(AllocatorConfig, DivisionsDependOnTheSize) {
  EXPECT_EQ(block_size(84 * kMiB, config("roundup_power2_divisions:4")), 96 * kMiB);
  AllocatorConfig const c = config("roundup_power2_divisions:[64:8,128:2,256:4,512:2,1024:1,>:1]");
  EXPECT_EQ(block_size(84 * kMiB, c), 88 * kMiB);
  EXPECT_EQ(block_size(400 * kMiB, c), 448 * kMiB);
  // The first holds below 64 MiB as well, the last above 1 GiB; 1 division is none.
  EXPECT_EQ(c.roundup_power2_divisions[0], 8);
  EXPECT_EQ(c.roundup_power2_divisions[7], 2);
  EXPECT_EQ(block_size(1500 * kMiB + 1, c), 1500 * kMiB + 512);
  EXPECT_EQ(c.roundup_power2_divisions[15], 1);
}

TEST(AllocatorConfig, ReadsEveryOption) {
  AllocatorConfigResult const r = parse_allocator_config(
      "max_split_size_mb:128, max_non_split_rounding_mb:32,garbage_collection_threshold:0.8,"
      "expandable_segments:True,large_segment_size_mb:12,per_process_memory_fraction:0.9,"
      "pinned_use_background_threads:True,backend:native");
  ASSERT_TRUE(r.config.has_value()) << r.error;
  AllocatorConfig expected;
  expected.max_split_size = 128 * kMiB;
  expected.max_non_split_rounding = 32 * kMiB;
  expected.garbage_collection_threshold = 0.8;
  expected.expandable_segments = true;
  expected.large_segment_size = 12 * kMiB;
  expected.per_process_memory_fraction = 0.9;
  EXPECT_EQ(*r.config, expected);
  EXPECT_EQ(r.without_effect, (std::vector<std::string>{"pinned_use_background_threads", "backend"}));
  EXPECT_EQ(config(""), AllocatorConfig{});
  EXPECT_EQ(to_text({}), "");
  EXPECT_EQ(config(to_text(expected)), expected);
  expected.roundup_power2_divisions = {0, 1, 2, 4, 8, 16, 0, 0, 4, 4, 4, 4, 4, 4, 4, 16};
  EXPECT_EQ(config(to_text(expected)), expected);
}

TEST(AllocatorConfig, RefusesWhatPyTorchRefuses) {
  EXPECT_EQ(error("max_split_size_mb:19"), "max_split_size_mb must be at least 20");
  EXPECT_EQ(error("max_split_size_mb"), "expected ':' at the end");
  EXPECT_EQ(error("max_split_size_mb:"), "a value is missing at the end");
  EXPECT_EQ(error("max_split_size_mb:many"), "expected a number, not 'many'");
  EXPECT_EQ(error("garbage_collection_threshold:1"), "garbage_collection_threshold must lie between 0 and 1");
  EXPECT_EQ(error("expandable_segments:true"), "expected True or False, not 'true'");
  EXPECT_EQ(error("roundup_power2_divisions:3"), "roundup_power2_divisions must be powers of two");
  EXPECT_EQ(error("roundup_power2_divisions:[64:8"), "expected ',' at the end");
  EXPECT_EQ(error("large_segment_size_mb:10"), "large_segment_size_mb must be at least 11");
  EXPECT_EQ(error("split:1"), "unknown option 'split'");
  EXPECT_EQ(error("backend:cudaMallocAsync"), "backend 'cudaMallocAsync' is not modelled; only native is");
}

}  // namespace
}  // namespace rollcast
