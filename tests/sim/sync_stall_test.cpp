// A weight sync whose collectives wait for each other ends the run where the last rank begins to wait.
#include "sim/sync_stall.hpp"

#include <gtest/gtest.h>

#include "sim/simulate.hpp"
#include "tests/models/price_fixtures.hpp"

namespace rollcast {
namespace {

// Llama-3.2-1B (2.3 GiB: three buckets) trained by FSDP on one node, engines on another.
Scenario apart(GatherStream stream) {
  Scenario s;
  s.name = "apart";
  Job& job = s.job;
  job.model = catalog_model("llama-3.2-1b");
  job.cluster = h100_cluster(2);
  job.pools = {{"train", h100_cluster(1), false}, {"rollout", h100_cluster(1), false}};
  job.role_pools.rollout = 1;
  job.framework.order = {Phase::generate, Phase::update_actor, Phase::weight_sync};
  job.framework.optimizer_offload = job.framework.parameters_offload = false;
  job.framework.sync_gather_stream = stream;
  job.algorithm = {.kind = AlgorithmKind::grpo,
                   .prompts = 16,
                   .group_size = 8,
                   .train_batch = 64,
                   .dynamic_sampling = {},
                   .adapter = {}};
  job.workload.prompt_tokens = {FixedLength{100}, 0, 100};
  job.workload.response_tokens = {FixedLength{100}, 0, 100};
  job.train.kind = TrainerKind::fsdp2;
  job.train.zero_stage = 3;
  job.rollout.gpu_memory_utilization = 0.5;
  job.rollout.max_model_len = 1600;
  job.schedule.kind = ScheduleKind::synchronous;
  return s;
}

EventLog run(Scenario const& s) { return simulate(s, round_profile(), {.steps = 2, .seed = 7}); }

TEST(SyncStall, AFullSyncCompletes) {
  EXPECT_EQ(run(apart(GatherStream::default_stream)).outcome, Outcome::completed);
}

TEST(SyncStall, ACircleEndsTheRun) {
  EventLog const log = run(apart(GatherStream::sender));
  EXPECT_EQ(log.outcome, Outcome::deadlock);
  EXPECT_NE(
      log.outcome_reason.find("in the weight sync of step 1: rank 0 is in broadcast 1 (weight transfer)"),
      std::string::npos)
      << log.outcome_reason;
  EXPECT_TRUE(log.steps.empty());
  ASSERT_FALSE(log.notes.empty());
  EXPECT_EQ(log.notes.front().find("assumed: "), 0u);
  // Both pools are in the sync until the last rank waits: one gather of three.
  PhaseWindow const& last = log.phases.back();
  EXPECT_EQ(last.phase, Phase::weight_sync);
  EXPECT_GT(last.end, last.start);
  // Then nobody comes: the trainer's watchdog finds it after its time-out.
  ASSERT_EQ(log.stalls.size(), 1u);
  EXPECT_EQ(log.stalls.front().kind, StallKind::deadlock);
  EXPECT_EQ(log.stalls.front().operation, "ALLGATHER");
  EXPECT_DOUBLE_EQ(log.stalls.front().time.value, last.end.value);
  EXPECT_NEAR((*log.stalls.front().detected - *log.stalls.front().enqueued).value, 600, 0.11);
}

TEST(SyncStall, CommunicatorsInTheSameOrderComplete) {
  Scenario s = apart(GatherStream::default_stream);
  s.job.framework.communicators = {32, IssueOrder::fixed, 8};
  EXPECT_EQ(run(s).outcome, Outcome::completed);
}

TEST(SyncStall, CommunicatorsInOrdersOfTheirOwnDoNot) {
  Scenario s = apart(GatherStream::default_stream);
  s.job.framework.communicators = {32, IssueOrder::random, 8};
  EventLog const log = run(s);
  EXPECT_EQ(log.outcome, Outcome::deadlock);
  EXPECT_NE(log.outcome_reason.find(" and waits for rank "), std::string::npos) << log.outcome_reason;
}

}  // namespace
}  // namespace rollcast
