// Out-of-memories as PyTorch's allocator has them, in whole runs.

#include <gtest/gtest.h>

#include "calibrate/profiles.hpp"
#include "scenarios/scenario.hpp"
#include "sim/simulate.hpp"

namespace rollcast {
namespace {

Scenario incident(std::string const& name, std::vector<std::string> sets = {}) {
  ScenarioOptions options;
  options.sets = std::move(sets);
  ScenarioResult r =
      read_scenario_file(ROLLCAST_SOURCE_DIR "/scenarios/incidents/" + name + ".yaml", options);
  if (!r.scenario) throw std::runtime_error(format(r.problems));
  return std::move(*r.scenario);
}

// Once per test: a process holds one simulation.
EventLog run(Scenario const& s, int steps, bool record = false) {
  return simulate(s, profiles_for(s.job), {.steps = steps, .record_allocations = record});
}

// By the sum of its lines the job fits; what the allocator holds and cannot use decides.
TEST(FollowedMemory, FragmentationDecidesWhereTheLedgerFits) {
  Scenario const s = incident("D1-fragmentation");
  RankLedger const l = memory_ledger(s.job).front();
  EXPECT_LT(peak(l).bytes, l.capacity);
  EventLog const log = run(s, 3);
  ASSERT_EQ(log.ooms.size(), 1U);
  OomRecord const& oom = log.ooms[0];
  ASSERT_TRUE(oom.figures);
  EXPECT_TRUE(identities_hold(*oom.figures));
  EXPECT_GT(oom.figures->reserved_unallocated, 0);
  EXPECT_LT(oom.requested, oom.free + bytes(static_cast<double>(oom.figures->reserved_unallocated)));
}

// verl issue 2828: 13.91 GiB asked with 8.85 free, 60.49 allocated. The fields and the time are those of the
// allocation that fails: within the phase, after it began.
TEST(FollowedMemory, AnOutOfMemoryNamesItsAllocation) {
  Scenario const s = incident("B1-entropy-logits");
  EventLog const log = run(s, 2);
  ASSERT_EQ(log.ooms.size(), 1U);
  OomRecord const& oom = log.ooms[0];
  EXPECT_DOUBLE_EQ(oom.requested.value, 24'576.0 * 151'936 * 4);
  EXPECT_EQ(oom.micro_batch, 0);
  EXPECT_TRUE(identities_hold(*oom.figures));
  EXPECT_NEAR(static_cast<double>(oom.figures->allocated) / GiB(1).value, 60.49, 0.1 * 60.49);
  PhaseWindow const& last = log.phases.back();
  EXPECT_EQ(last.phase, Phase::old_logprob);
  EXPECT_DOUBLE_EQ(last.end.value, oom.time.value);
  EXPECT_LT(last.start, last.end);
}

// The states of Adam are what an optimizer's first step asks for, after the passes of the whole batch.
TEST(FollowedMemory, AdamsStatesComeLast) {
  EventLog const log = run(incident("C1-first-adam-step"), 2);
  ASSERT_EQ(log.ooms.size(), 1U);
  EXPECT_EQ(log.ooms[0].allocation, "actor optimizer_states: model");
  EXPECT_EQ(log.ooms[0].step, 0);
  EXPECT_EQ(log.ooms[0].micro_batch, 255);  // of 256 sequences
}

// Reserved memory grows by what is gathered on the new streams, 2 layers x 623,120,640 x 2 B, in every step.
TEST(FollowedMemory, FreshStreamsGrowByWhatTheyGather) {
  EventLog const log = run(incident("D6-fresh-streams"), 5);
  ASSERT_EQ(log.outcome, Outcome::completed) << log.outcome_reason;
  std::vector<double> of_step(5, 0.0);
  for (Counter const& c : log.counters) {
    if (c.kind != CounterKind::torch_reserved) continue;
    for (std::size_t s = 0; s < of_step.size(); ++s) {
      if (c.time < log.steps[s].end) of_step[s] = std::max(of_step[s], c.value);
    }
  }
  LedgerLine const* gathered = nullptr;
  for (LedgerLine const& line : log.ledgers.front().lines) {
    if (line.name == "gathered layers") gathered = &line;
  }
  ASSERT_NE(gathered, nullptr);
  for (std::size_t s = 2; s < of_step.size(); ++s)
    EXPECT_NEAR(of_step[s] - of_step[s - 1], gathered->bytes.value, 2 * MiB(1).value) << s;
}

TEST(FollowedMemory, ASnapshotTellsWhatTheAllocatorDid) {
  EventLog const log = run(incident("C1-first-adam-step"), 1, true);
  ASSERT_TRUE(log.snapshot);
  ASSERT_FALSE(log.snapshot->device_traces.empty());
  EXPECT_EQ(log.snapshot->device_traces[0].back().action, AllocatorAction::oom);
  std::int64_t allocated = 0;
  for (SnapshotSegment const& s : log.snapshot->segments) allocated += allocated_size(s);
  EXPECT_EQ(allocated, log.ooms[0].figures->allocated);
}

TEST(FollowedMemory, NothingIsRecordedUnasked) {
  EXPECT_FALSE(run(incident("C1-first-adam-step"), 1).snapshot);
}

// A cache that grows: the run ends on the rank with the long answers, at the token that no longer fits, and
// not before the others are done.
TEST(FollowedMemory, AGrowingCacheEndsOnOneRank) {
  EventLog const log = run(incident("S1-rollout-surge"), 1);
  ASSERT_EQ(log.ooms.size(), 1U);
  EXPECT_EQ(log.ooms[0].rank, 17);
  EXPECT_LT(log.ooms[0].free, log.ooms[0].requested);
  EXPECT_TRUE(identities_hold(*log.ooms[0].figures));
  EventLog const& l = log;
  EXPECT_DOUBLE_EQ(l.phases.back().end.value, l.ooms[0].time.value);
}

}  // namespace
}  // namespace rollcast
