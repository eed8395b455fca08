#include "models/padding_waste.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace rollcast {
namespace {

TEST(PaddingWaste, OfPaddedMicroBatches) {
  // Groups {4, 1} and {3, 3} padded to 8 and 6 tokens, of which 5 and 6 are useful: 3 of 14 are wasted.
  auto const batches = make_micro_batches({4, 1, 3, 3}, {}, 2, 0);
  PaddingWaste const w = padding_waste(batches);
  EXPECT_EQ(w.tokens, 14);
  EXPECT_EQ(w.useful_tokens, 11);
  EXPECT_DOUBLE_EQ(w.wasted_share(), 3.0 / 14.0);
  PaddingWaste const twice = w + w;
  EXPECT_EQ(twice.tokens, 28);
  EXPECT_DOUBLE_EQ(twice.wasted_share(), 3.0 / 14.0);
}

TEST(PaddingWaste, PacksWasteNothing) {
  TrainerOptions t;
  t.packing = true;
  EXPECT_EQ(padding_waste(make_micro_batches({4, 1, 3, 3}, t, 1, 5)).wasted_share(), 0.0);
}

TEST(PaddingWaste, EmptyAndBroken) {
  EXPECT_EQ(padding_waste({}).wasted_share(), 0.0);
  EXPECT_THROW(padding_waste({{3, 4, 0}}), std::logic_error);
}

}  // namespace
}  // namespace rollcast
