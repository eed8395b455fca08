#include "models/experience.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace rollcast {
namespace {

TEST(StreamEnd, ByHand) {
  // Parts of 2 s for samples that come at 0, 1 and 10 s: done at 2, 4 and 12.
  EXPECT_DOUBLE_EQ(stream_end({Seconds(10), Seconds(0), Seconds(1)}, Seconds(6), Seconds(0)).value, 12);
  // A server that is busy until 9 s: 11, 13, 15.
  EXPECT_DOUBLE_EQ(stream_end({Seconds(10), Seconds(0), Seconds(1)}, Seconds(6), Seconds(9)).value, 15);
  EXPECT_DOUBLE_EQ(stream_end({}, Seconds(6), Seconds(9)).value, 15);
}

TEST(StreamEnd, LeavesAtLeastTheLastPart) {
  for (double const work : {0.0, 1.0, 50.0, 500.0}) {
    std::vector<Seconds> arrivals;
    for (int i = 0; i < 25; ++i) arrivals.emplace_back(4.0 * i);
    Seconds const end = stream_end(arrivals, Seconds(work), Seconds(0));
    EXPECT_GE(end.value, 96 + work / 25 - 1e-9);  // the last one comes at 96 s
    EXPECT_GE(end.value, work);
    EXPECT_LE(end.value, 96 + work + 1e-9);
  }
}

TEST(BatchWaits, ByHand) {
  // Four engines with 16 batches each share one model whose forwards take 64 s, 1 s a batch, and generate for
  // 160 s, 10 s a batch: at first they queue, the last behind three others, then each waits for its own
  // alone.
  EXPECT_DOUBLE_EQ(batch_waits(Seconds(64), 1, 4, 16, Seconds(160)).value, 16 + 3);
  // Two replicas: 2 s a batch on one of them, a queue of two.
  EXPECT_DOUBLE_EQ(batch_waits(Seconds(64), 2, 4, 16, Seconds(160)).value, 32 + 2);
  // As many replicas as engines: no queue. More do not help: a batch is one replica's.
  EXPECT_DOUBLE_EQ(batch_waits(Seconds(64), 4, 4, 16, Seconds(160)).value, 64);
  EXPECT_DOUBLE_EQ(batch_waits(Seconds(64), 8, 4, 16, Seconds(160)).value, 64);
}

TEST(BatchWaits, AModelThatIsTheSlowerOneIsNeverIdle) {
  // 10 s a batch and 16 s of generation in all, 1 s a batch: a round of four takes 40 s, of which each engine
  // generates 1 s; 16 x 39 + 3 x 10.
  EXPECT_DOUBLE_EQ(batch_waits(Seconds(640), 1, 4, 16, Seconds(16)).value, 16 * 39 + 30);
}

TEST(BatchWaits, Errors) {
  EXPECT_THROW(batch_waits(Seconds(1), 0, 1, 1, Seconds(1)), std::logic_error);
  EXPECT_THROW(batch_waits(Seconds(1), 1, 0, 1, Seconds(1)), std::logic_error);
  EXPECT_THROW(batch_waits(Seconds(1), 1, 1, 0, Seconds(1)), std::logic_error);
}

}  // namespace
}  // namespace rollcast
