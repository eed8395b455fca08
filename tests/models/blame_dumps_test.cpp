// Hand-made dumps: who is blamed, and for what.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/blame.hpp"
#include "models/dump_waits.hpp"
#include "models/rank_text.hpp"
#include "tests/models/flight_fixtures.hpp"

namespace rollcast {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr auto kCompleted = FlightState::completed;
constexpr auto kStarted = FlightState::started;

// Four ranks, one group; every rank has completed an all_reduce.
FlightRun four_ranks() {
  FlightRun run(4);
  run.group("0", "default_pg", {0, 1, 2, 3});
  for (int r = 0; r < 4; ++r) run.enqueue(r, "0", "all_reduce", kCompleted);
  return run;
}

TEST(BlameDumps, ARankThatHasNotEnqueuedIsMissing) {
  FlightRun run = four_ranks();
  for (int const r : {0, 1, 3}) run.enqueue(r, "0", "_all_gather_base");
  Blame const b = blame_dumps(run.dumps());
  EXPECT_EQ(b.kind, BlameKind::missing_rank);
  EXPECT_THAT(b.culprits, ElementsAre(2));
  EXPECT_THAT(b.waiting, ElementsAre(0, 1, 3));
  EXPECT_EQ(b.group, "0");
  EXPECT_EQ(b.op, "_all_gather_base");
  EXPECT_EQ(b.seq, 2);
  EXPECT_EQ(b.verdict,
            "Rank 2 has not enqueued _all_gather_base seq 2 of group 0 (default_pg), for which ranks 0, 1, 3 "
            "wait.");
  ASSERT_THAT(b.ranks, SizeIs(4));
  EXPECT_EQ(b.ranks[2].part, RankPart::missing);
  EXPECT_EQ(b.ranks[2].last_enqueued, 1);
  EXPECT_EQ(b.ranks[3].last_enqueued, 2);
  EXPECT_EQ(b.ranks[3].last_completed, 1);
}

TEST(BlameDumps, ItIsNotTheOneThatIsTwoCollectivesBehindThatWaits) {
  // Ranks 0, 1, 3 enqueue three more without waiting; the oldest of them is the one to name.
  FlightRun run = four_ranks();
  for (int const r : {0, 1, 3}) {
    for (char const* op : {"all_reduce", "broadcast", "all_reduce"}) run.enqueue(r, "0", op);
  }
  Blame const b = blame_dumps(run.dumps());
  EXPECT_THAT(b.culprits, ElementsAre(2));
  EXPECT_EQ(b.op, "all_reduce");
  EXPECT_EQ(b.seq, 2);
}

TEST(BlameDumps, ARankWithoutADump) {
  FlightRun run = four_ranks();
  for (int const r : {0, 1, 3}) run.enqueue(r, "0", "all_reduce");
  Blame const b = blame_dumps(run.dumps_without(2));
  EXPECT_EQ(b.kind, BlameKind::no_dump);
  EXPECT_THAT(b.culprits, ElementsAre(2));
  EXPECT_EQ(b.ranks[2].part, RankPart::no_dump);
  EXPECT_THAT(b.verdict, HasSubstr("Rank 2 left no dump here"));
}

TEST(BlameDumps, AMissingRankIsNamedBeforeOneWithoutADump) {
  FlightRun run = four_ranks();
  for (int const r : {0, 1, 3}) run.enqueue(r, "0", "all_reduce");
  Blame const b = blame_dumps(run.dumps_without(3));
  EXPECT_EQ(b.kind, BlameKind::missing_rank);
  EXPECT_THAT(b.culprits, ElementsAre(2));
  EXPECT_THAT(b.missing, testing::Contains("the dumps of rank 3"));
}

TEST(BlameDumps, AnotherOperationAtTheSameNumber) {
  FlightRun run = four_ranks();
  for (int r = 0; r < 4; ++r) run.enqueue(r, "0", r == 1 ? "broadcast" : "all_reduce");
  Blame const b = blame_dumps(run.dumps());
  EXPECT_EQ(b.kind, BlameKind::mismatch);
  EXPECT_THAT(b.culprits, ElementsAre(1));
  EXPECT_EQ(b.op, "all_reduce");
  EXPECT_THAT(b.verdict, HasSubstr("rank 1: broadcast"));
}

TEST(BlameDumps, OtherSizesAtTheSameNumber) {
  FlightRun run = four_ranks();
  for (int r = 0; r < 4; ++r) run.enqueue(r, "0", "all_reduce", FlightState::scheduled, r == 3 ? 8 : 1024);
  Blame const b = blame_dumps(run.dumps());
  EXPECT_EQ(b.kind, BlameKind::mismatch);
  EXPECT_THAT(b.culprits, ElementsAre(3));
  EXPECT_THAT(b.verdict, HasSubstr("[[8]]"));
}

TEST(BlameDumps, TwoAgainstTwoNamesAll) {
  FlightRun run = four_ranks();
  for (int r = 0; r < 4; ++r) run.enqueue(r, "0", "all_reduce", FlightState::scheduled, r < 2 ? 8 : 1024);
  Blame const b = blame_dumps(run.dumps());
  EXPECT_THAT(b.culprits, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(b.inferred, testing::Contains(HasSubstr("none is in the majority")));
}

TEST(BlameDumps, AllToAllMayDifferInSize) {
  FlightRun run = four_ranks();
  for (int r = 0; r < 4; ++r) run.enqueue(r, "0", "all_to_all", FlightState::scheduled, 100 + r);
  EXPECT_EQ(blame_dumps(run.dumps()).kind, BlameKind::all_waiting);
}

TEST(BlameDumps, AnEarlierMismatchThatWentThroughIsTheCause) {
  // Rank 1 left out the broadcast of number 2; number 3 is then all_reduce against nothing.
  FlightRun run = four_ranks();
  for (int r = 0; r < 4; ++r) run.enqueue(r, "0", r == 1 ? "all_reduce" : "broadcast", kCompleted);
  for (int const r : {0, 2, 3}) run.enqueue(r, "0", "all_reduce");
  Blame const b = blame_dumps(run.dumps());
  EXPECT_EQ(b.kind, BlameKind::mismatch);
  EXPECT_EQ(b.seq, 2);
  EXPECT_THAT(b.culprits, ElementsAre(1));
}

TEST(BlameDumps, TheChainIsFollowedToTheRankThatWaitsNowhere) {
  // 0 waits in tp for 1, which waits in dp for 3, which waits nowhere. 2 waits in its tp for 3 as well.
  FlightRun run(4);
  run.group("tp0", "tensor", {0, 1});
  run.group("tp1", "tensor", {2, 3});
  run.group("dp1", "data", {1, 3});
  run.enqueue(0, "tp0", "all_reduce");
  run.enqueue(1, "dp1", "_all_gather_base");
  Blame b = blame_dumps(run.dumps());
  EXPECT_EQ(b.kind, BlameKind::missing_rank);
  EXPECT_THAT(b.culprits, ElementsAre(3));
  EXPECT_EQ(b.group, "dp1");
  EXPECT_THAT(b.chain,
              ElementsAre("all_reduce seq 1 of group tp0 (tensor) needs rank 1, held at _all_gather_base "
                          "seq 1 of group dp1 (data)"));
  run.enqueue(2, "tp1", "all_reduce");
  b = blame_dumps(run.dumps());
  EXPECT_THAT(b.culprits, ElementsAre(3));
  EXPECT_EQ(b.group, "dp1");  // rank 1 enqueued a second before rank 2 did
}

TEST(BlameDumps, ACycleOfBlockedRanksIsReported) {
  // Rank 0 waits in sync and has not come to fsdp, rank 1 the other way round.
  FlightRun run(2);
  run.group("sync", "weights", {0, 1});
  run.group("fsdp", "shards", {0, 1});
  run.enqueue(0, "sync", "broadcast");
  run.enqueue(1, "fsdp", "_all_gather_base");
  Blame const b = blame_dumps(run.dumps());
  EXPECT_EQ(b.kind, BlameKind::order_cycle);
  EXPECT_THAT(b.culprits, ElementsAre(0, 1));
  EXPECT_THAT(b.chain, SizeIs(2));
}

TEST(BlameDumps, ACycleOfStreamsIsReported) {
  // As when rank 0 gathers on a side stream behind its broadcasts while the others gather first: every rank
  // has enqueued both collectives, none has started.
  FlightRun run(3);
  run.group("sync", "weights", {0, 1, 2});
  run.group("fsdp", "shards", {0, 1, 2});
  run.enqueue(0, "sync", "broadcast");
  run.enqueue(0, "fsdp", "_all_gather_base");
  for (int const r : {1, 2}) {
    run.enqueue(r, "fsdp", "_all_gather_base");
    run.enqueue(r, "sync", "broadcast");
  }
  Blame const b = blame_dumps(run.dumps());
  EXPECT_EQ(b.kind, BlameKind::order_cycle);
  EXPECT_THAT(b.culprits, ElementsAre(0, 1, 2));
  EXPECT_THAT(b.verdict, HasSubstr("in different orders"));
}

TEST(BlameDumps, AMissingRankComesBeforeACycle) {
  // The same, but rank 3 is in both groups and in neither collective.
  FlightRun run(4);
  run.group("sync", "weights", {0, 1, 3});
  run.group("fsdp", "shards", {0, 1, 3});
  run.enqueue(0, "sync", "broadcast");
  run.enqueue(1, "fsdp", "_all_gather_base");
  EXPECT_THAT(blame_dumps(run.dumps()).culprits, ElementsAre(3));
}

TEST(BlameDumps, AStreamThatHasNotComeToIt) {
  FlightRun run = four_ranks();
  for (int r = 0; r < 4; ++r) run.enqueue(r, "0", "all_reduce", r == 2 ? FlightState::scheduled : kStarted);
  Blame const b = blame_dumps(run.dumps());
  EXPECT_EQ(b.kind, BlameKind::not_started);
  EXPECT_THAT(b.culprits, ElementsAre(2));
}

TEST(BlameDumps, AllInAndNoneThroughNamesNoRank) {
  FlightRun run = four_ranks();
  for (int r = 0; r < 4; ++r) run.enqueue(r, "0", "all_reduce", kStarted);
  Blame const b = blame_dumps(run.dumps());
  EXPECT_EQ(b.kind, BlameKind::all_waiting);
  EXPECT_THAT(b.culprits, IsEmpty());
}

TEST(BlameDumps, NothingUnfinishedIsNothingStuck) {
  Blame const b = blame_dumps(four_ranks().dumps());
  EXPECT_EQ(b.kind, BlameKind::nothing_stuck);
  EXPECT_THAT(b.culprits, IsEmpty());
}

TEST(BlameDumps, UnderWayWithinTheLimitIsNothingStuck) {
  FlightRun run = four_ranks();
  for (int r = 0; r < 4; ++r) run.enqueue(r, "0", "all_reduce", kStarted).retired = false;
  EXPECT_EQ(blame_dumps(run.dumps()).kind, BlameKind::nothing_stuck);
}

TEST(BlameDumps, WithoutATimeOutTheVerdictSaysSo) {
  FlightRun run = four_ranks();
  for (int const r : {0, 1, 3}) run.enqueue(r, "0", "all_reduce").retired = false;
  EXPECT_THAT(blame_dumps(run.dumps()).verdict, HasSubstr("No time limit had passed yet."));
}

TEST(BlameDumps, OneCollectiveTooManyIsSaid) {
  // As when one rank has a micro-batch more than the others: three are missing, one waits.
  FlightRun run = four_ranks();
  run.enqueue(0, "0", "_all_gather_base");
  Blame const b = blame_dumps(run.dumps());
  EXPECT_THAT(b.culprits, ElementsAre(1, 2, 3));
  EXPECT_THAT(b.inferred, testing::Contains(HasSubstr("rank 0 may have entered one collective too many")));
}

TEST(BlameDumps, AReceiveWaitsForItsSender) {
  // Pipeline of global ranks 4 and 6, numbered 0 and 1 in their group; rank 6 receives.
  FlightRun run(7);
  run.group("pp", "pipeline", {4, 6});
  FlightEntry& e = run.enqueue(6, "pp", "recv 1<-0");
  e.is_p2p = true;
  Blame const b = blame_dumps(run.dumps());
  EXPECT_EQ(b.kind, BlameKind::missing_rank);
  EXPECT_THAT(b.culprits, ElementsAre(4));
  EXPECT_EQ(b.seq, -1);
}

TEST(BlameDumps, AnOperationOfACompletedCoalescedGroupIsCompleted) {
  // PyTorch leaves the members of the group `scheduled` for ever.
  FlightRun run(2);
  run.group("pp", "pipeline", {0, 1});
  for (int const r : {0, 1}) {
    for (std::string const op : {r == 0 ? "send 0->1" : "recv 1<-0", "coalesced"}) {
      FlightEntry& e = run.enqueue(r, "pp", op, op == "coalesced" ? kCompleted : FlightState::scheduled);
      e.is_p2p = true;
      e.collective_seq_id = 0;
      e.p2p_seq_id = 1;
    }
  }
  EXPECT_EQ(blame_dumps(run.dumps()).kind, BlameKind::nothing_stuck);
}

TEST(BlameDumps, WhatFellOutOfTheBufferIsKnownByTheStatus) {
  // All four are in number 2 of group 0. Rank 2's buffer has kept its last record alone, of another group, in
  // which it waits for rank 3; pg_status still says that it has enqueued number 2 of group 0.
  FlightRun run = four_ranks();
  run.group("ep", "experts", {2, 3});
  for (int r = 0; r < 4; ++r) run.enqueue(r, "0", "all_reduce");
  run.enqueue(2, "ep", "all_to_all");
  run.of(2).entries.erase(run.of(2).entries.begin(), run.of(2).entries.end() - 1);
  EXPECT_EQ(progress_of(run.of(2), run.of(2).pg_config.at("0")).enqueued, 2);
  Blame const b = blame_dumps(run.dumps());
  EXPECT_EQ(b.kind, BlameKind::all_waiting);
  EXPECT_EQ(b.group, "0");
  EXPECT_THAT(b.waiting, ElementsAre(0, 1, 2, 3));
}

TEST(BlameDumps, GroupsOfOneNameAndOtherRanksAreDifferentGroups) {
  // Split groups share a name: rank 1 is missing in {0, 1}, nothing is wrong in {2, 3}.
  FlightRun run(4);
  run.group("split", "", {0, 1});
  run.group("split", "", {2, 3});
  run.enqueue(0, "split", "all_reduce");
  for (int const r : {2, 3}) run.enqueue(r, "split", "broadcast", kCompleted);
  Blame const b = blame_dumps(run.dumps());
  EXPECT_EQ(b.kind, BlameKind::missing_rank);
  EXPECT_THAT(b.culprits, ElementsAre(1));
}

TEST(NamedRanks, FoldsRuns) {
  EXPECT_EQ(named_ranks({3}), "rank 3");
  EXPECT_EQ(named_ranks({0, 1, 2, 5, 7, 8}), "ranks 0-2, 5, 7, 8");
  EXPECT_EQ(named_ranks({}), "no rank");
}

}  // namespace
}  // namespace rollcast
