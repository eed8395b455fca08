#include "models/sync_program.hpp"

#include <gtest/gtest.h>

namespace rollcast {
namespace {

SyncCollectives sync(int trainer_ranks, GatherStream stream, int buckets = 4) {
  return {.trainer_ranks = trainer_ranks,
          .engine_ranks = 2,
          .buckets = buckets,
          .stream = stream,
          .gather = seconds(0.5),
          .send = seconds(1)};
}

CollectiveRun run(SyncCollectives const& s) { return run_collectives(sync_programs(s)); }

// huggingface/trl pull request 6798: two trainer ranks work, four and six stop; issue 7103: sixteen stop.
TEST(SyncProgram, TwoRanksFinishAndMoreDoNot) {
  EXPECT_TRUE(run(sync(2, GatherStream::sender)).finishes);
  for (int ranks : {3, 4, 6, 16, 32}) EXPECT_FALSE(run(sync(ranks, GatherStream::sender)).finishes) << ranks;
}

// Of the same request: the gather done on the default stream before the send.
TEST(SyncProgram, GathersOnTheDefaultStreamFinish) {
  for (int ranks : {1, 2, 3, 4, 6, 16, 32})
    EXPECT_TRUE(run(sync(ranks, GatherStream::default_stream)).finishes) << ranks;
}

// Rank 0 is in the first broadcast once its first gather is done, after 0.5 s; by then the others are in the
// second gather, which rank 0 has queued behind the broadcast: enqueued, never started.
TEST(SyncProgram, NamesTheCircle) {
  SyncCollectives const s = sync(3, GatherStream::sender);
  CollectivePrograms const p = sync_programs(s);
  CollectiveRun const r = run_collectives(p);
  EXPECT_EQ(
      stall_sentence(p, r),
      "rank 0 is in broadcast 1 (weight transfer) and waits for rank 1, rank 1 is in gather 2 (trainer) and "
      "waits for rank 0");
  EXPECT_DOUBLE_EQ(r.end.value, 0.5);
  ASSERT_EQ(r.stalled.size(), 2u);
  EXPECT_EQ(r.stalled[0].waiting.size(), 2u);  // ranks 1 and 2, in gather 2
  EXPECT_EQ(r.stalled[0].queued, std::vector<int>{0});
  EXPECT_EQ(r.stalled[1].waiting.size(), 3u);  // rank 0 and the engines, in broadcast 1
  EXPECT_DOUBLE_EQ(r.stalled[1].waiting[1].since.value, 0);
}

// One bucket: everything is gathered before anything is sent.
TEST(SyncProgram, OneBucketFinishes) { EXPECT_TRUE(run(sync(8, GatherStream::sender, 1)).finishes); }

// The reported cause alone is no circle: where the other ranks take part in gathers only, rank 0's order is
// everybody's.
TEST(SyncProgram, TheOrderOfRankZeroAloneIsNoCircle) {
  SyncCollectives const s = sync(4, GatherStream::sender);
  CollectivePrograms p = sync_programs(s);
  p.communicators[1].members = {0, 4, 5};
  for (std::size_t r = 1; r < 4; ++r) p.ranks[r].issued.resize(4);
  EXPECT_TRUE(run_collectives(p).finishes);
}

// Qwen3-0.6B has 1.2 GB in bf16; 32B have 61 GiB.
TEST(SyncProgram, ABucketIsAGibibyte) {
  EXPECT_EQ(sync_buckets(GB(1.2)), 2);
  EXPECT_EQ(sync_buckets(GiB(61)), 61);
  EXPECT_EQ(sync_buckets(MiB(3)), 1);
}

}  // namespace
}  // namespace rollcast
