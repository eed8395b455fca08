#include "models/communicator_order.hpp"

#include <gtest/gtest.h>

namespace rollcast {
namespace {

CommunicatorOptions options(int per_gpu, IssueOrder order, int concurrent) {
  return {per_gpu, order, concurrent};
}

// Two orders of two: the second GPU draws the first one's with probability 1/2. 4,000 draws: the standard
// deviation is 0.0079, and 0.03 is nearly four of them.
TEST(CommunicatorOrder, TwoGpusWithTwoCommunicatorsHangHalfTheTime) {
  EXPECT_NEAR(deadlock_share(options(2, IssueOrder::random, 1), 2, 1, 4000), 0.5, 0.03);
}

// Three communicators: 6 orders, 1 - 1/6. Three GPUs with two: all three alike, 1 - 2/8.
TEST(CommunicatorOrder, OnePlaceAsksForTheSameOrder) {
  EXPECT_NEAR(deadlock_share(options(3, IssueOrder::random, 1), 2, 1, 4000), 5.0 / 6, 0.025);
  EXPECT_NEAR(deadlock_share(options(2, IssueOrder::random, 1), 3, 1, 4000), 0.75, 0.03);
}

// Three communicators, two places, two GPUs. The first GPU starts two of the three, the other as well; they
// have one in common at least, which ends, and both then start what they lack: never a hang.
TEST(CommunicatorOrder, TwoPlacesOfThreeAreEnoughForTwoGpus) {
  EXPECT_EQ(deadlock_share(options(3, IssueOrder::random, 2), 2, 1, 500), 0);
}

TEST(CommunicatorOrder, RoomForAllNeverHangs) {
  EXPECT_EQ(deadlock_share(options(8, IssueOrder::random, 8), 16, 1, 50), 0);
}

TEST(CommunicatorOrder, OneOrderNeverHangs) {
  EXPECT_EQ(deadlock_share(options(128, IssueOrder::fixed, 1), 16, 1, 3), 0);
  EXPECT_EQ(deadlock_share(options(128, IssueOrder::fixed, 8), 16, 1, 3), 0);
}

// NVIDIA/nccl issue 195.
TEST(CommunicatorOrder, SixteenGpusWithManyCommunicatorsHang) {
  EXPECT_EQ(deadlock_share(options(128, IssueOrder::random, 8), 16, 1, 20), 1);
}

TEST(CommunicatorOrder, TheSameSeedDrawsTheSameOrders) {
  CommunicatorOptions const o = options(6, IssueOrder::random, 1);
  CollectivePrograms const a = side_by_side(o, 2, 7, 3, seconds(1));
  CollectivePrograms const b = side_by_side(o, 2, 7, 3, seconds(1));
  for (std::size_t i = 0; i < 6; ++i)
    EXPECT_EQ(a.ranks[1].issued[i].communicator, b.ranks[1].issued[i].communicator);
}

}  // namespace
}  // namespace rollcast
