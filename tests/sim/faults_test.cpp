// Faults in small runs: who waits for whom, in what, and how the job ends.
#include "sim/faults.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "tests/sim/child_process.hpp"
#include "tests/sim/faulty_jobs.hpp"

namespace rollcast {
namespace {

using Ranks = std::vector<int>;

Scenario with(Scenario s, Fault f, LauncherKind launcher = LauncherKind::none) {
  s.job.faults = {std::move(f)};
  s.job.launcher.kind = launcher;
  return s;
}

Ranks all_but(Ranks const& missing, int count) {
  Ranks ranks;
  for (int r = 0; r < count; ++r)
    if (!std::count(missing.begin(), missing.end(), r)) ranks.push_back(r);
  return ranks;
}

// ---- an update

// Seven ranks wait in the next gather; ten minutes, a poll and a minute later they are gone: 8 GPUs are lost
// from the kill to then.
TEST(Faults, AKilledRankStallsTheOthersOfFsdp) {
  EventLog const log =
      run_faulty(with(fsdp_on_a_node(), fault_in(Phase::update_actor, FaultKind::kill, {3}, ms(10), 1)));
  EXPECT_EQ(log.outcome, Outcome::stalled);
  EXPECT_EQ(log.steps.size(), 1u);  // the first is done
  ASSERT_EQ(log.stalls.size(), 1u);
  StallRecord const& r = log.stalls[0];
  EXPECT_EQ(r.kind, StallKind::watchdog);
  EXPECT_EQ(r.group, "fsdp");
  EXPECT_EQ(r.operation, "ALLGATHER");
  EXPECT_EQ(r.cause, "rank 3 in update_actor of step 2 is killed");
  EXPECT_EQ(r.waiting_ranks, all_but({3}, 8));
  EXPECT_EQ(r.missing_ranks, Ranks{3});
  EXPECT_GE(*r.enqueued, r.time);
  EXPECT_GE((*r.detected - *r.enqueued).value, 600);
  EXPECT_LE((*r.detected - *r.enqueued).value, 600.1);
  EXPECT_NEAR((*r.killed - *r.detected).value, 60, 0.2);
  EXPECT_NEAR(*r.gpu_seconds_lost, 8 * (*r.killed - r.time).value, 1e-6);
  EXPECT_EQ(log.outcome_reason.find(r.cause), 0u);
  EXPECT_FALSE(log.remedies.empty());
  expect_whole_log(log);
}

// Seen after 0.1 s, gone a second later. Nothing stalled.
TEST(Faults, ALauncherEndsTheJobOfAKilledRank) {
  for (LauncherKind k : {LauncherKind::ray, LauncherKind::torchrun}) {
    in_child([&] {
      EventLog const log =
          run_faulty(with(fsdp_on_a_node(), fault_in(Phase::update_actor, FaultKind::kill, {3}), k));
      EXPECT_EQ(log.outcome, Outcome::failed);
      EXPECT_NEAR(length_of(log), 1.1, 1e-9);
      EXPECT_TRUE(log.stalls.empty());
      expect_whole_log(log);
      return std::vector<double>{};
    });
  }
}

// A hang is no launcher's to see: the first of the watchdogs ends the job, 660 s and 1.1 s after the wait.
TEST(Faults, AHangWaitsForTheFirstWatchdog) {
  for (LauncherKind k : {LauncherKind::ray, LauncherKind::torchrun}) {
    in_child([&] {
      EventLog const log =
          run_faulty(with(fsdp_on_a_node(), fault_in(Phase::update_actor, FaultKind::hang, {3}), k));
      EXPECT_EQ(log.outcome, Outcome::stalled);
      EXPECT_EQ(log.stalls.at(0).kind, StallKind::watchdog);
      EXPECT_NEAR((*log.stalls.at(0).killed - *log.stalls.at(0).enqueued).value, 661.15, 0.06);
      expect_whole_log(log);
      return std::vector<double>{};
    });
  }
}

// tp 2, pp 2, two replicas. Rank 0 has the tensor-parallel peer 1; 4 and 5 are the other stage of its
// replica; 2, 3 and 6, 7 are the other replica.
TEST(Faults, MegatronRanksWaitInTheirOwnGroups) {
  EventLog const log =
      run_faulty(with(megatron_on_a_node(), fault_in(Phase::update_actor, FaultKind::kill, {0})));
  EXPECT_EQ(waiting_in(log, "tensor parallel"), Ranks{1});
  EXPECT_EQ(waiting_in(log, "pipeline"), (Ranks{4, 5}));
  EXPECT_EQ(waiting_in(log, "gradients of stage 0"), (Ranks{2, 3}));
  EXPECT_EQ(waiting_in(log, "gradients of stage 1"), (Ranks{6, 7}));
  EXPECT_EQ(log.stalls.at(0).group, "tensor parallel");  // the first that waits
  EXPECT_EQ(log.stalls.at(0).missing_ranks, Ranks{0});
  expect_whole_log(log);
}

// The last stage stops: the first waits for its backward passes.
TEST(Faults, ALastStageStopsTheFirst) {
  EventLog const log =
      run_faulty(with(megatron_on_a_node(), fault_in(Phase::update_actor, FaultKind::hang, {7})));
  EXPECT_EQ(waiting_in(log, "tensor parallel"), Ranks{6});
  EXPECT_EQ(waiting_in(log, "pipeline"), (Ranks{2, 3}));
  EXPECT_EQ(waiting_in(log, "gradients of stage 0"), (Ranks{0, 1}));
  EXPECT_EQ(waiting_in(log, "gradients of stage 1"), (Ranks{4, 5}));
  expect_whole_log(log);
}

// Without tensor parallelism nobody shares the stage; the replicas meet in the gradients alone.
TEST(Faults, ReplicasMeetInTheGradients) {
  Scenario s = megatron_on_a_node();
  s.job.train.parallel = {};
  EventLog const log = run_faulty(with(s, fault_in(Phase::update_actor, FaultKind::hang, {5})));
  EXPECT_EQ(waiting_in(log, "gradients of stage 0"), all_but({5}, 8));
  EXPECT_EQ(log.stalls.at(0).operation, "ALLREDUCE");
  expect_whole_log(log);
}

// ---- forward passes and generation

// Other replicas finish the pass; a driver gives them nothing more to wait in.
TEST(Faults, OtherReplicasAreIdleUnderADriver) {
  EventLog const log =
      run_faulty(with(megatron_on_a_node(), fault_in(Phase::old_logprob, FaultKind::hang, {0})));
  EXPECT_EQ(waiting_in(log, "tensor parallel"), Ranks{1});
  EXPECT_EQ(waiting_in(log, "pipeline"), (Ranks{4, 5}));
  EXPECT_EQ(all_waiting(log), (Ranks{1, 4, 5}));
  expect_whole_log(log);
}

// Every rank runs the loop itself: the others come to the next exchange between all.
TEST(Faults, OtherReplicasWaitWithoutADriver) {
  Scenario s = megatron_on_a_node();
  s.job.framework.single_controller = false;
  EventLog const log = run_faulty(with(s, fault_in(Phase::old_logprob, FaultKind::hang, {0})));
  EXPECT_EQ(waiting_in(log, "default"), (Ranks{2, 3, 6, 7}));
  EXPECT_EQ(all_waiting(log), all_but({0}, 8));
  expect_whole_log(log);
}

// An engine of two ranks: the other waits, and the call gives up after 300 s.
TEST(Faults, AnEnginesRankLeavesItsPeerToTheCaller) {
  Scenario s = fsdp_on_a_node();
  s.job.rollout.parallel.tp = 2;
  EventLog const log =
      run_faulty(with(s, fault_in(Phase::generate, FaultKind::hang, {4}), LauncherKind::ray));
  EXPECT_EQ(all_waiting(log), Ranks{5});
  EXPECT_EQ(log.stalls.at(0).kind, StallKind::rpc_timeout);
  EXPECT_EQ(log.stalls.at(0).group, "engine 2");
  EXPECT_NEAR(length_of(log), 301.1, 1e-6);
  expect_whole_log(log);
}

TEST(Faults, AnEngineThatGoesEndsTheRun) {
  Scenario s = fsdp_on_a_node();
  s.job.rollout.parallel.tp = 2;
  EventLog const log =
      run_faulty(with(s, fault_in(Phase::generate, FaultKind::server, {1}), LauncherKind::ray));
  EXPECT_EQ(log.outcome, Outcome::failed);
  EXPECT_NE(log.outcome_reason.find("rollout engine 1 in generate of step 1 dies"), std::string::npos);
  EXPECT_EQ(log.happenings.front().ranks, (Ranks{2, 3}));
  EXPECT_NEAR(length_of(log), 1.1, 1e-9);
  expect_whole_log(log);
}

// ---- scoring

TEST(Faults, AnEndlessScoringIsNobodysCollective) {
  EventLog const log = run_faulty(with(fsdp_on_a_node(), fault_in(Phase::score, FaultKind::hang, {})));
  EXPECT_EQ(log.outcome, Outcome::stalled);
  ASSERT_EQ(log.stalls.size(), 1u);
  EXPECT_EQ(log.stalls[0].kind, StallKind::hang);
  EXPECT_TRUE(log.stalls[0].group.empty());
  EXPECT_TRUE(log.stalls[0].waiting_ranks.empty());
  EXPECT_FALSE(log.stalls[0].killed.has_value());
  EXPECT_LT(length_of(log), 0);
  expect_whole_log(log);
}

TEST(Faults, AScoringWithATimeOutGoesOn) {
  Scenario s = with(fsdp_on_a_node(), fault_in(Phase::score, FaultKind::hang, {}));
  s.job.score.timeout = seconds(10);
  EXPECT_EQ(run_faulty(s).outcome, Outcome::completed);
}

// Rank 0 scores, the others wait for what it broadcasts.
TEST(Faults, WithoutADriverTheOthersWaitForTheScoring) {
  Scenario s = with(fsdp_on_a_node(), fault_in(Phase::score, FaultKind::hang, {}));
  s.job.framework.single_controller = false;
  EventLog const log = run_faulty(s);
  EXPECT_EQ(waiting_in(log, "default"), all_but({0}, 8));
  EXPECT_EQ(log.stalls.at(0).kind, StallKind::watchdog);
  EXPECT_EQ(log.stalls.at(0).operation, "BROADCAST");
  expect_whole_log(log);
}

// ---- an idle pool

Scenario apart() {
  Scenario s = fsdp_on_a_node();
  s.job.cluster = h100_cluster(2);
  s.job.pools = {{"train", h100_cluster(1), false}, {"rollout", h100_cluster(1), false}};
  s.job.role_pools.rollout = 1;
  s.job.framework.optimizer_offload = s.job.framework.parameters_offload = false;
  return s;
}

// A trainer's rank goes while the engines generate.
Fault while_idle() {
  Fault f;
  f.kind = FaultKind::kill;
  f.at = ms(50);
  f.ranks = {2};
  return f;
}

TEST(Faults, ADeadRankOfAnIdlePoolIsSeenAtOnce) {
  EventLog const log = run_faulty(with(apart(), while_idle(), LauncherKind::ray));
  EXPECT_EQ(log.outcome, Outcome::failed);
  EXPECT_NE(log.outcome_reason.find("rank 2 of train between two phases is killed"), std::string::npos)
      << log.outcome_reason;
  EXPECT_NEAR(length_of(log), 15.1, 1e-9);  // two nodes
  expect_whole_log(log);
}

// Nobody sees it until the trainer's next phase.
TEST(Faults, ADeadRankOfAnIdlePoolIsMissedInTheNextPhase) {
  EventLog const log = run_faulty(with(apart(), while_idle()));
  EXPECT_EQ(log.outcome, Outcome::stalled);
  ASSERT_EQ(log.stalls.size(), 1u);
  StallRecord const& r = log.stalls[0];
  EXPECT_DOUBLE_EQ(r.time.value, 0.05);
  EXPECT_GT(r.enqueued->value, 0.1);
  EXPECT_EQ(r.waiting_ranks, all_but({2}, 8));
  EXPECT_EQ(r.pool, 0);
  expect_whole_log(log);
}

TEST(Faults, AFaultAfterTheRunIsNone) {
  for (LauncherKind k : {LauncherKind::none, LauncherKind::ray}) {
    in_child([&] {
      Fault f = while_idle();
      f.at = seconds(1e6);
      EventLog const log = run_faulty(with(fsdp_on_a_node(), f, k));
      EXPECT_EQ(log.outcome, Outcome::completed) << log.outcome_reason;
      EXPECT_TRUE(log.happenings.empty());
      return std::vector<double>{};
    });
  }
}

// ---- slow ranks and links

double update_seconds(Scenario const& s) {
  return in_child([&] {
           EventLog const log = run_faulty(s, 1);
           EXPECT_EQ(log.outcome, Outcome::completed) << log.outcome_reason;
           double length = 0;
           for (PhaseWindow const& w : log.phases)
             if (w.phase == Phase::update_actor) length += (w.end - w.start).value;
           return std::vector<double>{length};
         })
      .at(0);
}

// Ranks that gather layers together go at the pace of the slowest; communication does not slow down, so twice
// the kernels' time is at most twice the update's.
TEST(Faults, ASlowRankSlowsAll) {
  Scenario s = fsdp_on_a_node();
  double const usual = update_seconds(s);
  Fault f;
  f.kind = FaultKind::slow;
  f.at = seconds(0);
  f.ranks = {6};
  f.factor = 1;
  EXPECT_NEAR(update_seconds(with(s, f)), usual, 1e-9);
  f.factor = 2;
  double const slow = update_seconds(with(s, f));
  EXPECT_GT(slow, 1.2 * usual);
  EXPECT_LT(slow, 2 * usual + 1e-9);
  f.ranks = {1, 6};
  EXPECT_NEAR(update_seconds(with(s, f)), slow, 0.2 * slow);
}

Scenario two_nodes() {
  Scenario s = fsdp_on_a_node();
  s.job.cluster = h100_cluster(2);
  s.job.train.kind = TrainerKind::ddp;
  s.job.train.zero_stage = 0;
  return s;
}

Fault cut() {
  Fault f;
  f.kind = FaultKind::link;
  f.at = seconds(0);
  f.factor = 0;
  return f;
}

// All sixteen come to the reduction, and it does not get through.
TEST(Faults, ACutCableStallsTheGradients) {
  EventLog const log = run_faulty(with(two_nodes(), cut()));
  EXPECT_EQ(log.outcome, Outcome::stalled);
  ASSERT_EQ(log.stalls.size(), 1u);
  StallRecord const& r = log.stalls[0];
  EXPECT_EQ(r.kind, StallKind::watchdog);
  EXPECT_EQ(r.group, "gradients of stage 0");
  EXPECT_TRUE(r.missing_ranks.empty());
  EXPECT_EQ(r.waiting_ranks, all_but({}, 16));
  EXPECT_NE(r.cause.find("the network does not carry gradients of stage 0"), std::string::npos) << r.cause;
  EXPECT_NEAR((*r.detected - *r.enqueued).value, 600.05, 0.06);
  expect_whole_log(log);
}

// Layers are gathered over the cable: the first one that is cut stops everybody.
TEST(Faults, ACutCableStallsGathers) {
  Scenario s = two_nodes();
  s.job.train.kind = TrainerKind::fsdp2;
  s.job.train.zero_stage = 3;
  Fault f = cut();
  f.at.reset();
  f.after = ms(10);
  EventLog const log = run_faulty(with(s, f));
  ASSERT_EQ(log.stalls.size(), 1u);
  EXPECT_EQ(log.stalls[0].group, "fsdp");
  EXPECT_EQ(log.stalls[0].waiting_ranks, all_but({}, 16));
  EXPECT_TRUE(log.stalls[0].missing_ranks.empty());
  expect_whole_log(log);
}

// Half a cable: the run completes, later.
TEST(Faults, ASlowCableSlowsTheUpdate) {
  Scenario const s = two_nodes();
  Fault f = cut();
  f.factor = 0.05;
  EXPECT_GT(update_seconds(with(s, f)), update_seconds(s));
}

// ---- micro-batches and calls

// One rank leaves the loop early and calls something else: it waits there itself.
TEST(Faults, ASkippedMicroBatchStallsBothSides) {
  for (FaultKind k : {FaultKind::skip, FaultKind::desync}) {
    in_child([&] {
      EventLog const log = run_faulty(with(fsdp_on_a_node(), fault_in(Phase::update_actor, k, {4})));
      EXPECT_EQ(log.stalls.at(0).kind, StallKind::watchdog);
      EXPECT_EQ(log.stalls.at(0).missing_ranks, Ranks{4});
      Ranks all(8);
      std::iota(all.begin(), all.end(), 0);
      EXPECT_EQ(all_waiting(log), all);
      expect_whole_log(log);
      return std::vector<double>{};
    });
  }
}

}  // namespace
}  // namespace rollcast
