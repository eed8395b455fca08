#include "models/weight_loading.hpp"

#include <gtest/gtest.h>

#include "tests/models/price_fixtures.hpp"

namespace rollcast {
namespace {

// Qwen2.5-7B: 28 layers of 19 members. Qwen3-30B-A3B: 48 of 22, and 3 x 128 entries.
TEST(WeightLoading, ACallWalksOverTheModel) {
  EXPECT_NEAR(load_walk(catalog_model("qwen2.5-7b")).value, 28 * 19 * 0.684e-6, 1e-12);
  EXPECT_NEAR(load_walk(catalog_model("qwen3-30b-a3b")).value, 48 * 22 * 0.684e-6 + 384 * 0.265e-6, 1e-12);
}

// DeepSeek-V3: 3 dense layers, 58 with 256 experts.
TEST(WeightLoading, DenseLayersOfASparseModelAreDense) {
  EXPECT_NEAR(load_walk(catalog_model("deepseek-v3")).value, (3 * 19 + 58 * 22) * 0.684e-6 + 768 * 0.265e-6,
              1e-12);
}

// What it was fitted on: 58.57 s = 36,945 x (0.07 ms + walk), W01's Qwen3-235B-A22B.
TEST(WeightLoading, TellsTheRowThatItWasFittedOn) {
  EXPECT_NEAR(36945 * (70e-6 + load_walk(catalog_model("qwen3-235b-a22b")).value), 58.57, 0.1);
}

}  // namespace
}  // namespace rollcast
