// The dumps of a simulated incident name its culprit, read back as those of a real run.
#include "reports/incident_dumps.hpp"

#include <gmock/gmock.h>

#include "models/blame.hpp"
#include "reports/flight_record_json.hpp"

namespace rollcast {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

EventLog log_of(Stall stall) {
  EventLog log;
  log.stall = std::move(stall);
  return log;
}

// Four ranks gather the layers of a model; rank 2 does not come to the 81st gather.
Stall one_missing(Stop stop) {
  Stall s;
  s.at = Seconds(10);
  s.cause = "rank 2 stops";
  s.missing = {{0, 2, stop, Seconds(10)}};
  s.groups = {{"fsdp", "ALLGATHER", 81, GroupTimer::c10d, {}}};
  for (int r : {0, 1, 3}) s.waiting.push_back({0, r, 0, Seconds(10.25)});
  return s;
}

Blame read_back(std::vector<FlightDump> const& dumps) {
  std::vector<FlightDump> read;
  for (FlightDump const& d : dumps) {
    FlightRecordResult r = read_flight_record(flight_record_json(d), flight_record_name(d.rank) + ".json");
    EXPECT_TRUE(r.dump) << (r.problems.empty() ? "" : r.problems.front());
    if (r.dump) read.push_back(std::move(*r.dump));
  }
  return blame(read, {});
}

TEST(IncidentDumps, NameTheRankThatDoesNotCome) {
  auto const dumps = incident_dumps(log_of(one_missing(Stop::raised)));
  ASSERT_THAT(dumps, SizeIs(4));
  EXPECT_EQ(dumps[0].entries.back().time_created_ns, 10'250'000'000);
  Blame const b = read_back(dumps);
  EXPECT_THAT(b.culprits, ElementsAre(2));
  EXPECT_EQ(b.seq, 81);
  EXPECT_THAT(b.waiting, ElementsAre(0, 1, 3));
}

// A process that has gone writes nothing, and is missed for that.
TEST(IncidentDumps, AKilledRankLeavesNone) {
  auto const dumps = incident_dumps(log_of(one_missing(Stop::exited)));
  ASSERT_THAT(dumps, SizeIs(3));
  EXPECT_THAT(read_back(dumps).culprits, ElementsAre(2));
}

TEST(IncidentDumps, TwoCollectivesOfOneNumberAreAMismatch) {
  Stall s = one_missing(Stop::hangs);
  s.groups.push_back({"fsdp", "ALLREDUCE", 81, GroupTimer::c10d, {}});
  s.waiting.push_back({0, 2, 1, Seconds(10)});
  Blame const b = read_back(incident_dumps(log_of(s)));
  EXPECT_EQ(b.kind, BlameKind::mismatch);
  EXPECT_THAT(b.culprits, ElementsAre(2));
}

TEST(IncidentDumps, NoTimerNoDump) {
  Stall s = one_missing(Stop::hangs);
  s.groups[0].timer = GroupTimer::none;
  EXPECT_THAT(incident_dumps(log_of(s)), SizeIs(0));
  EXPECT_THAT(incident_dumps(EventLog()), SizeIs(0));
}

}  // namespace
}  // namespace rollcast
