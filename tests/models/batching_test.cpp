#include "models/batching.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "tests/models/price_fixtures.hpp"

namespace rollcast {
namespace {

// Sequences of at most 10 + 40 = 50 tokens.
Job short_job() {
  Job job = llama_job(1);
  job.workload.prompt_tokens.shape = FixedLength{10};
  job.workload.response_tokens.shape = FixedLength{40};
  job.train.micro_batch = 2;
  job.train.logprob_micro_batch = 4;
  return job;
}

RankLengths const kRanks = {{5, 3, 8, 1}, {2, 2, 20, 4}};

std::vector<std::int64_t> tokens(std::vector<MicroBatch> const& batches) {
  std::vector<std::int64_t> out;
  for (MicroBatch const& m : batches) out.push_back(m.tokens);
  return out;
}

std::int64_t useful(std::vector<std::vector<MicroBatch>> const& batches) {
  std::int64_t sum = 0;
  for (auto const& of_rank : batches) {
    for (MicroBatch const& m : of_rank) sum += m.useful_tokens;
  }
  return sum;
}

using Counts = std::vector<std::int64_t>;

TEST(Batching, PadsToTheLongestOfTheMicroBatch) {
  auto const b = make_rank_batches(short_job(), kRanks, PassKind::training);
  ASSERT_EQ(b.size(), 2U);
  EXPECT_EQ(tokens(b[0]), (Counts{10, 16}));  // 2 x 5, 2 x 8
  EXPECT_EQ(tokens(b[1]), (Counts{4, 40}));   // 2 x 2, 2 x 20
  EXPECT_DOUBLE_EQ(b[0][0].pairs, 2 * 15);    // 5 x 6 / 2 each
}

TEST(Batching, PadsToTheLongestOfAllRanks) {
  Job job = short_job();
  job.train.padding = Padding::batch;
  for (auto const& of_rank : make_rank_batches(job, kRanks, PassKind::training)) {
    EXPECT_EQ(tokens(of_rank), (Counts{40, 40}));  // 2 x 20
    EXPECT_DOUBLE_EQ(of_rank[0].pairs, 2 * 20 * 21 / 2);
  }
}

TEST(Batching, PadsToTheLongestThatTheWorkloadAllows) {
  Job job = short_job();
  job.train.padding = Padding::maximum;
  auto const b = make_rank_batches(job, kRanks, PassKind::training);
  EXPECT_EQ(tokens(b[0]), (Counts{100, 100}));
  EXPECT_EQ(b[0][0].useful_tokens, 8);
  // A micro-batch that is not full has fewer rows.
  EXPECT_EQ(tokens(make_rank_batches(job, {{5, 3, 8}}, PassKind::training)[0]), (Counts{100, 50}));
}

TEST(Batching, ForwardPassesHaveAMicroBatchOfTheirOwn) {
  auto const b = make_rank_batches(short_job(), kRanks, PassKind::forward);
  EXPECT_EQ(tokens(b[0]), (Counts{32}));  // 4 x 8
  EXPECT_EQ(tokens(b[1]), (Counts{80}));
}

TEST(Batching, DpoCountsPairs) {
  Job job = short_job();
  job.algorithm.kind = AlgorithmKind::dpo;  // two pairs, four sequences
  EXPECT_EQ(tokens(make_rank_batches(job, kRanks, PassKind::training)[0]), (Counts{32}));
}

TEST(Batching, PacksHoldTheLongestSequenceUnlessTold) {
  Job job = short_job();
  job.train.packing = true;
  job.train.micro_batch = 1;
  EXPECT_EQ(tokens(make_rank_batches(job, {{30, 30, 20, 20}}, PassKind::training)[0]), (Counts{50, 50}));
  job.train.pack_tokens = 100;
  EXPECT_EQ(tokens(make_rank_batches(job, {{30, 30, 20, 20}}, PassKind::training)[0]), (Counts{100}));
}

TEST(Batching, DynamicBatchesFollowTheFullestRank) {
  Job job = short_job();
  job.train.dynamic_batching = true;
  job.train.tokens_per_micro_batch = 10;
  job.train.logprob_tokens_per_micro_batch = 28;
  // 17 and 28 tokens: 2 and 3 micro-batches of 10, so 3 each; of 28 tokens one.
  for (auto const& of_rank : make_rank_batches(job, kRanks, PassKind::training))
    EXPECT_EQ(of_rank.size(), 3U);
  for (auto const& of_rank : make_rank_batches(job, kRanks, PassKind::forward)) EXPECT_EQ(of_rank.size(), 1U);
  job.train.parallel.cp = 2;  // the budget is per rank: 20 tokens, 2 each
  for (auto const& of_rank : make_rank_batches(job, kRanks, PassKind::training))
    EXPECT_EQ(of_rank.size(), 2U);
  job.train.parallel.pp = 4;
  job.train.virtual_stages = 2;  // a multiple of 4
  for (auto const& of_rank : make_rank_batches(job, kRanks, PassKind::training))
    EXPECT_EQ(of_rank.size(), 4U);
}

TEST(Batching, NoTokenIsLost) {
  std::int64_t const all = 17 + 28;
  for (Padding const p : {Padding::longest, Padding::batch, Padding::maximum}) {
    for (bool const packing : {false, true}) {
      for (bool const dynamic : {false, true}) {
        Job job = short_job();
        job.train.padding = p;
        job.train.packing = packing;
        job.train.dynamic_batching = dynamic;
        job.train.tokens_per_micro_batch = 20;
        EXPECT_EQ(useful(make_rank_batches(job, kRanks, PassKind::training)), all);
      }
    }
  }
}

TEST(DealSamples, ContiguousOrByLengthBackAndForth) {
  Job job = short_job();
  using Parts = std::vector<std::vector<int>>;
  EXPECT_EQ(deal_samples(job, {5, 3, 8, 1}, 2), (Parts{{0, 1}, {2, 3}}));
  job.train.balance = Balance::sorted;  // 8, 5, 3, 1 to ranks 0, 1, 1, 0
  EXPECT_EQ(deal_samples(job, {5, 3, 8, 1}, 2), (Parts{{2, 3}, {0, 1}}));
}

TEST(DealSamples, PairsStayTogether) {
  Job job = short_job();
  job.algorithm.kind = AlgorithmKind::dpo;
  for (Balance const b : {Balance::none, Balance::sorted, Balance::karmarkar_karp}) {
    job.train.balance = b;
    // Three pairs on two ranks: one and two.
    EXPECT_EQ(deal_samples(job, {9, 1, 1, 7, 3, 3}, 2), (std::vector<std::vector<int>>{{0, 1}, {2, 3, 4, 5}}))
        << name_of(b);
  }
}

// Each sample goes to one rank, whatever the balance, the number of samples and of ranks.
TEST(DealSamples, IsAPermutation) {
  for (Balance const b : {Balance::none, Balance::sorted, Balance::karmarkar_karp}) {
    for (int const n : {0, 1, 7, 16, 48}) {
      for (int const ranks : {1, 2, 3, 8}) {
        Job job = short_job();
        job.train.balance = b;
        std::vector<int> lengths(static_cast<std::size_t>(n));
        for (int i = 0; i < n; ++i) lengths[static_cast<std::size_t>(i)] = 1 + i * 37 % 50;
        auto const parts = deal_samples(job, lengths, ranks);
        ASSERT_EQ(parts.size(), static_cast<std::size_t>(ranks));
        std::vector<int> all;
        for (auto const& part : parts) all.insert(all.end(), part.begin(), part.end());
        std::sort(all.begin(), all.end());
        std::vector<int> expected(static_cast<std::size_t>(n));
        std::iota(expected.begin(), expected.end(), 0);
        EXPECT_EQ(all, expected) << name_of(b) << ", " << n << " over " << ranks;
        for (auto const& part : parts) {
          std::size_t const even = static_cast<std::size_t>(n / ranks);
          EXPECT_TRUE(part.size() == even || part.size() == even + 1) << name_of(b);
        }
      }
    }
  }
}

}  // namespace
}  // namespace rollcast
