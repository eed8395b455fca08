#include "models/dataset_samples.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace rollcast {
namespace {

Workload workload() {
  return {{fit_lognormal(300, 900, 0).lengths, 0, 2048}, {fit_lognormal(400, 1200, 0).lengths, 0, 4096}};
}

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

}  // namespace
}  // namespace rollcast
