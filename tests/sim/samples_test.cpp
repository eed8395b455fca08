#include "sim/samples.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "sim/sample_shards.hpp"

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

std::int64_t tokens(std::vector<StepSample> const& share) {
  return std::accumulate(share.begin(), share.end(), std::int64_t{0},
                         [](std::int64_t sum, StepSample const& s) { return sum + s.tokens(); });
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

// 8 replicas of one GPU each.
class Replicas : public testing::Test {
 protected:
  Team team(Job job) {
    job.cluster.nodes = 1;
    job.cluster.node.gpus = 8;
    pool_.placement = place(job);
    return {Role::actor, std::move(job), &pool_, {}, {}};
  }

 private:
  Profile profile_;
  PoolState pool_{.index = 0,
                  .job = {},
                  .profile = profile_,
                  .prices = {},
                  .placement = {},
                  .ledgers = {},
                  .ledger_of_class = {}};
};

TEST_F(Replicas, ShareABatchWithoutLossAndBalanceItsTokens) {
  Job job = grpo(16, 32);
  job.train.balance = Balance::sorted;
  Batch batch{.samples = samples_of_step(job, 3, 0)};
  std::vector<std::vector<StepSample>> shards;
  for (auto const& part : dealt_to(team(job), batch)) {
    auto& shard = shards.emplace_back();
    for (int i : part) shard.push_back(batch.samples[static_cast<std::size_t>(i)]);
  }
  ASSERT_EQ(shards.size(), 8u);
  std::vector<std::int64_t> ids;
  std::vector<std::int64_t> sums;
  for (auto const& s : shards) {
    EXPECT_EQ(s.size(), 64u);
    sums.push_back(tokens(s));
    for (StepSample const& sample : s) ids.push_back(sample.id);
  }
  std::sort(ids.begin(), ids.end());
  for (std::size_t i = 0; i < ids.size(); ++i) EXPECT_EQ(ids[i], static_cast<std::int64_t>(i));
  // Dealt back and forth in falling order, two shards differ by at most the longest sequence.
  auto const [least, most] = std::minmax_element(sums.begin(), sums.end());
  EXPECT_LE(*most - *least, 2100);
}

// 48 samples in batches of 20: three optimizer steps of 20, 20 and 8 samples, each epoch anew.
TEST_F(Replicas, TrainOnEverySampleOnceAnEpoch) {
  for (Balance const balance : {Balance::none, Balance::sorted, Balance::karmarkar_karp}) {
    Job job = grpo(6, 8);
    job.algorithm.train_batch = 20;
    job.algorithm.epochs = 2;
    job.train.balance = balance;
    Batch batch{.samples = samples_of_step(job, 3, 0)};
    auto const steps = optimizer_steps(team(job), batch);
    ASSERT_EQ(steps.size(), 6u);
    std::int64_t sum = 0;
    std::size_t count = 0;
    for (RankLengths const& ranks : steps) {
      ASSERT_EQ(ranks.size(), 8u);
      for (auto const& lengths : ranks) {
        sum = std::accumulate(lengths.begin(), lengths.end(), sum);
        count += lengths.size();
      }
    }
    EXPECT_EQ(count, 2u * 48);
    EXPECT_EQ(sum, 2 * tokens(batch.samples));
  }
}

}  // namespace
}  // namespace rollcast
