#include "models/dataset_samples.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <stdexcept>

#include "models/padding_waste.hpp"

namespace rollcast {
namespace {

Workload workload() {
  return {{fit_lognormal(300, 900, 0).lengths, 0, 2048}, {fit_lognormal(400, 1200, 0).lengths, 0, 4096}};
}

// Sequences of 5 and 4 tokens, and of 3 and 8; and one pair of 6 and 6 on the second rank.
std::vector<std::vector<DatasetItem>> two_ranks() { return {{{0, 3, 2, 1}, {1, 2, 1, 6}}, {{2, 4, 2, 2}}}; }

TEST(DatasetSamples, LengthsAreKeyed) {
  auto const pairs = items_of_step(AlgorithmKind::dpo, workload(), 100, 7, 3);
  auto const fewer = items_of_step(AlgorithmKind::dpo, workload(), 10, 7, 3);
  auto const singles = items_of_step(AlgorithmKind::sft, workload(), 200, 7, 3);
  ASSERT_EQ(pairs.size(), 100U);
  for (std::size_t i = 0; i < 10; ++i) {
    EXPECT_EQ(fewer[i].prompt_tokens, pairs[i].prompt_tokens);
    EXPECT_EQ(fewer[i].response_tokens, pairs[i].response_tokens);
    EXPECT_EQ(fewer[i].rejected_tokens, pairs[i].rejected_tokens);
  }
  int unequal = 0;
  for (std::size_t i = 0; i < 100; ++i) {
    EXPECT_EQ(pairs[i].id, static_cast<std::int64_t>(i));
    EXPECT_GE(pairs[i].rejected_tokens, 1);
    EXPECT_EQ(singles[i].prompt_tokens, pairs[i].prompt_tokens);
    EXPECT_EQ(singles[2 * i].response_tokens, pairs[i].response_tokens);
    EXPECT_EQ(singles[2 * i + 1].response_tokens, pairs[i].rejected_tokens);
    EXPECT_EQ(singles[i].rejected_tokens, 0);
    unequal += pairs[i].response_tokens != pairs[i].rejected_tokens;
  }
  EXPECT_GT(unequal, 90);
  EXPECT_NE(items_of_step(AlgorithmKind::sft, workload(), 1, 7, 4)[0].response_tokens,
            singles[0].response_tokens);
  EXPECT_THROW(items_of_step(AlgorithmKind::grpo, workload(), 1, 7, 3), std::logic_error);
}

TEST(DatasetSamples, SequencesOfAPairAreNeighbours) {
  EXPECT_EQ(sequence_lengths(two_ranks()[0], 0), (std::vector<int>{5, 4, 3, 8}));
  EXPECT_EQ(sequence_lengths(two_ranks()[0], 6), (std::vector<int>{5, 4, 3, 6}));
  EXPECT_EQ(sequence_lengths({{0, 3, 2, 0}, {1, 1, 1, 0}}, 0), (std::vector<int>{5, 2}));
}

TEST(DatasetSamples, PaddedToTheMicroBatch) {
  // One pair each: 2 rows of 5, 2 of 8; 2 of 6.
  auto const batches = make_dataset_batches(two_ranks(), {});
  ASSERT_EQ(batches.size(), 2U);
  ASSERT_EQ(batches[0].size(), 2U);
  EXPECT_EQ(batches[0][0].tokens, 10);
  EXPECT_EQ(batches[0][0].useful_tokens, 9);
  EXPECT_DOUBLE_EQ(batches[0][0].pairs, 2 * 15);  // 5 x 6 / 2
  EXPECT_EQ(batches[0][1].tokens, 16);
  EXPECT_EQ(batches[0][1].useful_tokens, 11);
  ASSERT_EQ(batches[1].size(), 1U);
  EXPECT_EQ(batches[1][0].tokens, 12);
  EXPECT_EQ(batches[1][0].useful_tokens, 12);
  // Both pairs of the first rank together: 4 rows of 8; in multiples of 5: 4 rows of 10.
  EXPECT_EQ(make_dataset_batches(two_ranks(), {Collation::pad_to_micro_batch, 2})[0][0].tokens, 32);
  EXPECT_EQ(make_dataset_batches(two_ranks(), {Collation::pad_to_micro_batch, 2, 0, 5})[0][0].tokens, 40);
}

TEST(DatasetSamples, PaddedToTheBatchOrTheMaximum) {
  // 8 is the longest of all ranks, so that the second rank computes rows of 8 as well.
  auto const to_batch = make_dataset_batches(two_ranks(), {Collation::pad_to_batch});
  EXPECT_EQ(to_batch[0][0].tokens, 16);
  EXPECT_EQ(to_batch[1][0].tokens, 16);
  EXPECT_DOUBLE_EQ(to_batch[1][0].pairs, 2 * 36);
  auto const to_maximum = make_dataset_batches(two_ranks(), {Collation::pad_to_maximum, 1, 20});
  EXPECT_EQ(to_maximum[0][0].tokens, 40);
  EXPECT_EQ(to_maximum[0][0].useful_tokens, 9);
}

TEST(DatasetSamples, Concatenated) {
  auto const batches = make_dataset_batches(two_ranks(), {Collation::concatenate, 2, 0, 8});
  ASSERT_EQ(batches[0].size(), 1U);
  EXPECT_EQ(batches[0][0].useful_tokens, 20);
  EXPECT_EQ(batches[0][0].tokens, 24);                      // a multiple of 8
  EXPECT_DOUBLE_EQ(batches[0][0].pairs, 15 + 10 + 6 + 36);  // 5, 4, 3 and 8
  EXPECT_EQ(batches[1][0].tokens, 16);
}

TEST(DatasetSamples, PackedSingles) {
  // Sequences of 7, 3 and 5 into rows of 10: {7 3}, {5}.
  std::vector<DatasetItem> const items{{0, 4, 3, 0}, {1, 2, 1, 0}, {2, 4, 1, 0}};
  auto const batches = make_dataset_batches({items}, {Collation::pack, 1, 10});
  ASSERT_EQ(batches[0].size(), 2U);
  EXPECT_EQ(batches[0][0].tokens, 10);
  EXPECT_EQ(batches[0][1].tokens, 5);
}

// Whatever the collation, every sequence is in one micro-batch, padding only adds, and less padding costs
// less.
TEST(DatasetSamples, TokensAreConserved) {
  for (AlgorithmKind const kind : {AlgorithmKind::sft, AlgorithmKind::dpo}) {
    auto const items = items_of_step(kind, workload(), 64, 1, 0);
    std::vector<std::vector<DatasetItem>> ranks(4);
    for (std::size_t i = 0; i < items.size(); ++i) ranks[i / 16].push_back(items[i]);
    auto const lengths = sequence_lengths(items, 1500);
    auto const tokens = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
    auto const waste = [&](Collation c) {
      PaddingWaste sum;
      for (auto const& batches : make_dataset_batches(ranks, {c, 3, 1500, 1})) {
        if (c != Collation::pack) {
          EXPECT_EQ(batches.size(), 6U);  // ceil(16 / 3)
        }
        sum = sum + padding_waste(batches);
      }
      EXPECT_EQ(sum.useful_tokens, tokens);
      return sum.wasted_share();
    };
    EXPECT_EQ(waste(Collation::concatenate), 0.0);
    EXPECT_GT(waste(Collation::pad_to_micro_batch), 0.0);
    EXPECT_GT(waste(Collation::pad_to_batch), waste(Collation::pad_to_micro_batch));
    EXPECT_GE(waste(Collation::pad_to_maximum), waste(Collation::pad_to_batch));
    if (kind == AlgorithmKind::sft) {
      EXPECT_EQ(waste(Collation::pack), 0.0);
    }
  }
}

TEST(DatasetSamples, Broken) {
  EXPECT_TRUE(make_dataset_batches({}, {}).empty());
  EXPECT_TRUE(make_dataset_batches({{}}, {Collation::pad_to_batch})[0].empty());
  EXPECT_THROW(make_dataset_batches(two_ranks(), {Collation::pack, 1, 10}), std::logic_error);
  EXPECT_THROW(make_dataset_batches(two_ranks(), {Collation::pad_to_maximum}), std::logic_error);
  EXPECT_THROW(make_dataset_batches(two_ranks(), {Collation::concatenate, 0}), std::logic_error);
}

}  // namespace
}  // namespace rollcast
