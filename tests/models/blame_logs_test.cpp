// Facts of logs, and logs beside dumps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/blame.hpp"
#include "tests/models/flight_fixtures.hpp"

namespace rollcast {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

IncidentFact fact(FactKind kind, int rank, double time, int line) {
  IncidentFact f;
  f.kind = kind;
  f.rank = rank;
  f.rank_source = rank < 0 ? RankSource::none : RankSource::world;
  f.time = f.after = seconds(time);
  f.file = "train.log";
  f.line = line;
  f.text = "line " + std::to_string(line);
  return f;
}

IncidentFact timeout(int rank, double time, int line, std::string const& op = "ALLREDUCE",
                     std::int64_t seq = 12) {
  IncidentFact f = fact(FactKind::watchdog_timeout, rank, time, line);
  f.op = op;
  f.seq = seq;
  f.numel_in = f.numel_out = 1;
  f.timeout_ms = 600'000;
  f.ran_ms = 600'013;
  f.group = "0";
  f.group_desc = "default_pg";
  return f;
}

TEST(BlameLogs, AnOutOfMemoryBeforeTheTimeOutsIsTheFirstCause) {
  // Rank 2 at 100 s; the others enqueued at 100.987 s and time out at 701 s.
  std::vector<IncidentFact> facts = {fact(FactKind::out_of_memory, 2, 100, 1)};
  for (int const r : {0, 1, 3}) facts.push_back(timeout(r, 701, 2 + r));
  Blame const b = blame({}, facts);
  EXPECT_EQ(b.kind, BlameKind::first_failure);
  EXPECT_THAT(b.culprits, ElementsAre(2));
  EXPECT_THAT(b.verdict,
              HasSubstr("Rank 2 ran out of memory first; ranks 0, 1, 3 then waited in ALLREDUCE seq 12"));
  EXPECT_THAT(b.certain, Contains("that was before the collective that timed out was enqueued"));
  EXPECT_EQ(b.evidence.front().line, 1);
  EXPECT_EQ(b.ranks[2].part, RankPart::failed);
}

TEST(BlameLogs, AnOutOfMemoryAfterTheTimeOutIsNot) {
  std::vector<IncidentFact> facts = {timeout(0, 701, 1), timeout(1, 701, 2), timeout(3, 701, 3),
                                     fact(FactKind::out_of_memory, 0, 702, 4)};
  Blame const b = blame({}, facts);
  EXPECT_EQ(b.kind, BlameKind::missing_rank);
  EXPECT_THAT(b.culprits, ElementsAre(2));
}

TEST(BlameLogs, AnExceptionThatItsRankOutlivesIsNot) {
  // Rank 0 logs an exception, and later times out in the collective itself; rank 2 is silent.
  std::vector<IncidentFact> const facts = {fact(FactKind::exception, 0, 50, 1), timeout(0, 701, 2),
                                           timeout(1, 701, 3), timeout(3, 701, 4)};
  Blame const b = blame({}, facts);
  EXPECT_EQ(b.kind, BlameKind::missing_rank);
  EXPECT_THAT(b.culprits, ElementsAre(2));
}

TEST(BlameLogs, LogsNarrowWhatFewDumpsLeaveOpen) {
  // One dump of four: ranks 1 to 3 left none. The log knows that rank 2 is behind.
  FlightRun run(4);
  run.group("0", "default_pg", {0, 1, 2, 3});
  run.enqueue(0, "0", "all_reduce");
  EXPECT_THAT(blame({run.dumps()[0]}, {}).culprits, ElementsAre(1, 2, 3));
  EXPECT_THAT(blame({run.dumps()[0]}, {timeout(0, 700, 1), timeout(1, 700, 2), timeout(3, 700, 3)}).culprits,
              ElementsAre(2));
}

TEST(BlameLogs, AnUnnamedRankIsTheOneThatDoesNotReport) {
  std::vector<IncidentFact> facts = {fact(FactKind::out_of_memory, -1, 100, 1)};
  for (int const r : {0, 1, 3}) facts.push_back(timeout(r, 701, 2 + r));
  Blame const b = blame({}, facts);
  EXPECT_THAT(b.culprits, ElementsAre(2));
  EXPECT_THAT(b.inferred, Contains(HasSubstr("rank 2 alone does not report the time-out")));
}

TEST(BlameLogs, TheOnlySilentRankIsInferred) {
  std::vector<IncidentFact> facts;
  for (int const r : {0, 1, 2, 4, 5, 6, 7}) facts.push_back(timeout(r, 700, 1 + r));
  Blame const b = blame({}, facts);
  EXPECT_EQ(b.kind, BlameKind::missing_rank);
  EXPECT_THAT(b.culprits, ElementsAre(3));
  EXPECT_THAT(b.inferred, Contains(HasSubstr("it alone is silent")));
}

TEST(BlameLogs, ALowerLastEnqueuedIsCertain) {
  std::vector<IncidentFact> facts;
  for (int const r : {1, 2}) facts.push_back(timeout(r, 700, 1 + r));
  IncidentFact signal = fact(FactKind::dump_signal, 0, 701, 8);
  signal.group = "0";
  signal.last_enqueued = signal.last_completed = 11;
  facts.push_back(signal);
  Blame const b = blame({}, facts);
  EXPECT_THAT(b.culprits, ElementsAre(0));
  EXPECT_THAT(b.certain, Contains(HasSubstr("below the sequence number")));
  EXPECT_EQ(b.verdict.substr(0, 27), "Rank 0 has not enqueued it:");
}

TEST(BlameLogs, WhenAllReportNobodyIsNamed) {
  std::vector<IncidentFact> facts;
  for (int r = 0; r < 4; ++r) facts.push_back(timeout(r, 700, 1 + r));
  Blame const b = blame({}, facts);
  EXPECT_EQ(b.kind, BlameKind::all_waiting);
  EXPECT_THAT(b.culprits, IsEmpty());
}

TEST(BlameLogs, FoldedLinesNameNobody) {
  std::vector<IncidentFact> facts = {timeout(0, 700, 1), timeout(2, 700, 2)};
  facts[1].folded = true;
  Blame const b = blame({}, facts);
  EXPECT_THAT(b.culprits, IsEmpty());
  EXPECT_THAT(b.missing, Contains("the log with RAY_DEDUP_LOGS=0"));
}

TEST(BlameLogs, DifferentOperationsUnderOneNumber) {
  std::vector<IncidentFact> facts = {timeout(0, 700, 1), timeout(1, 700, 2, "BROADCAST"), timeout(2, 700, 3)};
  Blame const b = blame({}, facts);
  EXPECT_EQ(b.kind, BlameKind::mismatch);
  EXPECT_THAT(b.culprits, ElementsAre(1));
}

TEST(BlameLogs, TheCollectiveThatWasEnqueuedFirstIsTold) {
  // Rank 1 times out in a group with a longer limit, but began at 700 - 600 = 100 s; rank 0 at 650 - 50 s.
  std::vector<IncidentFact> facts = {timeout(0, 650, 1), timeout(1, 700, 2, "ALLTOALL", 5)};
  facts[0].ran_ms = 50'000;
  facts[0].group = "other";
  Blame const b = blame({}, facts);
  EXPECT_EQ(b.op, "ALLTOALL");
}

TEST(BlameLogs, AKilledProcessThatTheLauncherTellsLast) {
  // Exit code -9 comes in torchrun's block after the time-outs; rank 2 has none of its own.
  std::vector<IncidentFact> facts;
  for (int const r : {0, 1, 3}) facts.push_back(timeout(r, 700, 1 + r));
  IncidentFact exit = fact(FactKind::process_exit, 2, 800, 9);
  exit.exit_code = -9;
  exit.first_observed = true;
  facts.push_back(exit);
  Blame const b = blame({}, facts);
  EXPECT_EQ(b.kind, BlameKind::first_failure);
  EXPECT_THAT(b.culprits, ElementsAre(2));
  // The watchdog's own abort is no cause.
  facts.back().exit_code = -6;
  EXPECT_EQ(blame({}, facts).kind, BlameKind::missing_rank);
}

TEST(BlameLogs, AnOutOfMemoryWithoutATimeCountsThoughItStandsLast) {
  // Ray's driver prints the trace of rank 2 when the run is over.
  std::vector<IncidentFact> facts = {timeout(0, 700, 1), timeout(1, 700, 2), timeout(3, 700, 3),
                                     fact(FactKind::out_of_memory, 2, 700, 9)};
  facts.back().time.reset();
  Blame const b = blame({}, facts);
  EXPECT_EQ(b.kind, BlameKind::first_failure);
  EXPECT_THAT(b.culprits, ElementsAre(2));
  EXPECT_THAT(b.inferred, Contains(HasSubstr("told after the time-outs")));
  // Of a rank that is in the collective it is a consequence.
  facts.back().rank = 0;
  EXPECT_EQ(blame({}, facts).kind, BlameKind::missing_rank);
}

TEST(BlameLogs, WithoutALineOfNcclItIsNotBlamed) {
  EXPECT_EQ(blame({}, {}).kind, BlameKind::no_collective);
  Blame const b = blame({}, {fact(FactKind::request_timeout, -1, 10, 1)});
  EXPECT_EQ(b.kind, BlameKind::no_collective);
  EXPECT_THAT(b.verdict, HasSubstr("NCCL is not to blame"));
  EXPECT_THAT(b.op, IsEmpty());
}

TEST(BlameLogs, ALogsFirstCauseComesBeforeTheDumps) {
  FlightRun run(3);
  run.group("0", "default_pg", {0, 1, 2});
  for (int const r : {0, 1}) run.enqueue(r, "0", "all_reduce");
  Blame const b = blame(run.dumps_without(2), {fact(FactKind::out_of_memory, 2, 5, 1)});
  EXPECT_EQ(b.kind, BlameKind::first_failure);
  EXPECT_THAT(b.culprits, ElementsAre(2));
  EXPECT_EQ(b.op, "all_reduce");
  EXPECT_THAT(b.waiting, ElementsAre(0, 1));
  EXPECT_THAT(b.certain, Contains(HasSubstr("the dumps name the same rank")));
  EXPECT_EQ(b.ranks[2].part, RankPart::failed);
}

TEST(BlameLogs, OrderIsByTimeThenByLine) {
  std::vector<IncidentFact> const f =
      in_order({fact(FactKind::exception, 0, 5, 3), fact(FactKind::exception, 1, 5, 2),
                fact(FactKind::exception, 2, 4, 9)});
  EXPECT_EQ(f[0].rank, 2);
  EXPECT_EQ(f[1].rank, 1);
  EXPECT_EQ(f[2].rank, 0);
}

}  // namespace
}  // namespace rollcast
