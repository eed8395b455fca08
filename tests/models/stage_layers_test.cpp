#include "models/stage_layers.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <stdexcept>

namespace rollcast {
namespace {

using Counts = std::vector<int>;

Architecture model_of(int layers) {
  Architecture a;
  a.layers = layers;
  return a;
}

TEST(StageLayers, FirstAndLastHaveTheirOwn) {
  // 61 layers over 16 ranks, 3 and 2 at the ends: 56 over 14, 4 each.
  Counts expected(16, 4);
  expected.front() = 3;
  expected.back() = 2;
  EXPECT_EQ(stage_layers(61, {16, 1, 3, 2}), expected);
  EXPECT_EQ(stage_layers(30, {4, 1, std::nullopt, 6}), (Counts{8, 8, 8, 6}));
  EXPECT_EQ(stage_layers(31, {4, 1, 7, std::nullopt}), (Counts{7, 8, 8, 8}));
  EXPECT_EQ(stage_layers(9, {2, 1, 5, 4}), (Counts{5, 4}));
}

// Ranks of 4, 8, 8 and 4 layers in two chunks: 2 4 4 2, twice.
TEST(StageLayers, ChunksOfARankAreEqual) {
  EXPECT_EQ(stage_layers(24, {4, 2, 4, 4}), (Counts{2, 4, 4, 2, 2, 4, 4, 2}));
  EXPECT_EQ(stage_layers(16, {2, 4, {}, {}}), Counts(8, 2));
}

TEST(StageLayers, WithoutNumbersOfTheirOwnAsPipelineStages) {
  for (int layers = 1; layers <= 40; ++layers) {
    for (int ranks = 1; ranks <= layers && ranks <= 8; ++ranks) {
      auto const counts = stage_layers(layers, {ranks, 1, {}, {}});
      ASSERT_TRUE(counts);
      Architecture const a = model_of(layers);
      std::vector<Stage> const uneven = pipeline_stages(a, *counts);
      std::vector<Stage> const plain = pipeline_stages(a, ranks);
      ASSERT_EQ(uneven.size(), plain.size());
      for (std::size_t s = 0; s < plain.size(); ++s) {
        EXPECT_EQ(uneven[s].first_layer, plain[s].first_layer);
        EXPECT_EQ(uneven[s].layers, plain[s].layers);
        EXPECT_EQ(uneven[s].has_embedding, plain[s].has_embedding);
        EXPECT_EQ(uneven[s].has_lm_head, plain[s].has_lm_head);
      }
    }
  }
}

TEST(StageLayers, EveryLayerOnce) {
  for (int layers = 1; layers <= 48; ++layers) {
    for (int ranks = 1; ranks <= 6; ++ranks) {
      for (int chunks = 1; chunks <= 3; ++chunks) {
        for (int first = 0; first <= 6; ++first) {
          auto const counts = stage_layers(layers, {ranks, chunks, first, std::nullopt});
          if (!counts) continue;
          EXPECT_EQ(counts->size(), static_cast<std::size_t>(ranks * chunks));
          EXPECT_EQ(std::accumulate(counts->begin(), counts->end(), 0), layers);
          EXPECT_EQ(counts->front() * chunks, first);
        }
      }
    }
  }
}

TEST(StageLayers, SplitsThatDoNotExist) {
  EXPECT_FALSE(stage_layers(8, {2, 1, 5, 4}));     // 9 of 8
  EXPECT_FALSE(stage_layers(8, {2, 1, 3, 4}));     // one left over
  EXPECT_FALSE(stage_layers(8, {1, 1, 4, 4}));     // two ends, one rank
  EXPECT_FALSE(stage_layers(8, {4, 1, 8, {}}));    // nothing for the others
  EXPECT_FALSE(stage_layers(3, {4, 1, {}, {}}));   // a rank without a layer
  EXPECT_FALSE(stage_layers(12, {4, 2, {}, {}}));  // 3 layers in two chunks
  EXPECT_FALSE(stage_layers(8, {0, 1, {}, {}}));
}

TEST(StageLayers, StagesOfGivenCounts) {
  auto const stages = pipeline_stages(model_of(9), Counts{3, 4, 2});
  ASSERT_EQ(stages.size(), 3U);
  EXPECT_EQ(stages[1].first_layer, 3);
  EXPECT_EQ(stages[2].first_layer, 7);
  EXPECT_TRUE(stages[0].has_embedding && !stages[0].has_lm_head);
  EXPECT_TRUE(stages[2].has_lm_head && !stages[2].has_embedding);
  EXPECT_THROW(pipeline_stages(model_of(9), Counts{3, 4}), std::logic_error);
  EXPECT_THROW(pipeline_stages(model_of(9), Counts{10, -1}), std::logic_error);
}

}  // namespace
}  // namespace rollcast
