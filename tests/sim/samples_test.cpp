#include "sim/samples.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace rollcast {
namespace {

Job grpo(int prompts, int group_size) {
  Job job;
  job.algorithm.prompts = prompts;
  job.algorithm.group_size = group_size;
  job.workload.prompt_tokens.shape = FixedLength{100};
  job.workload.response_tokens.shape = LogNormalLength{5.0, 1.0, 2000};
  return job;
}

std::int64_t tokens(std::vector<Sample> const& share) {
  return std::accumulate(share.begin(), share.end(), std::int64_t{0},
                         [](std::int64_t sum, Sample const& s) { return sum + s.tokens(); });
}

TEST(Samples, SiblingsShareTheirPrompt) {
  auto const samples = samples_of_step(grpo(4, 8), 1, 0);
  ASSERT_EQ(samples.size(), 32u);
  EXPECT_EQ(samples[7].prompt, 0);
  EXPECT_EQ(samples[8].prompt, 1);
  EXPECT_EQ(samples[31].id, 31);
}

// A larger batch keeps the lengths of the samples that the smaller one has: draws are keyed by index.
TEST(Samples, MorePromptsDoNotReshuffle) {
  auto const few = samples_of_step(grpo(4, 8), 7, 2);
  auto const many = samples_of_step(grpo(16, 8), 7, 2);
  for (std::size_t i = 0; i < few.size(); ++i) EXPECT_EQ(few[i].response_tokens, many[i].response_tokens);
}

TEST(Samples, ShardsAreContiguousAndWithinOne) {
  auto const samples = samples_of_step(grpo(5, 2), 1, 0);
  auto const shards = shard(samples, 4);  // 10 over 4: 2, 3, 2, 3
  std::int64_t next = 0;
  for (auto const& s : shards) {
    EXPECT_GE(s.size(), 2u);
    EXPECT_LE(s.size(), 3u);
    for (Sample const& sample : s) EXPECT_EQ(sample.id, next++);
  }
  EXPECT_EQ(next, 10);
}

TEST(Samples, TrainingShardsLoseNothingAndBalanceTokens) {
  auto const samples = samples_of_step(grpo(16, 32), 3, 0);
  auto const shards = shard_for_training(samples, 8, true);
  std::vector<std::int64_t> ids;
  std::vector<std::int64_t> sums;
  for (auto const& s : shards) {
    EXPECT_EQ(s.size(), 64u);
    sums.push_back(tokens(s));
    for (Sample const& sample : s) ids.push_back(sample.id);
  }
  std::sort(ids.begin(), ids.end());
  for (std::size_t i = 0; i < ids.size(); ++i) EXPECT_EQ(ids[i], static_cast<std::int64_t>(i));
  // Dealt back and forth in falling order, two shards differ by at most the longest sequence.
  auto const [least, most] = std::minmax_element(sums.begin(), sums.end());
  EXPECT_LE(*most - *least, 2100);
}

}  // namespace
}  // namespace rollcast
