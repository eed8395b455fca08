// The blocks `faults`, `watchdog`, `launcher` and `network`: what is read, and each mistake with its place.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/scenarios/example.hpp"

namespace rollcast {
namespace {

// The example with one fault. It trains by Megatron (pp 2) and generates on two nodes of eight.
std::string with_fault(std::string const& fault) { return example_text() + "faults:\n  - " + fault + "\n"; }
// The same trained by FSDP.
std::string sharded(std::string const& fault) {
  std::string text = with_fault(fault);
  auto const at = text.find("train: {");
  return text.replace(at, text.find('\n', at) - at, "train: {trainer: fsdp2, recompute: full}");
}

ScenarioResult read(std::string const& text) { return read_scenario_text(text, "faulty.yaml", {}); }

Fault fault_of(std::string const& text) {
  ScenarioResult const r = read(text);
  EXPECT_TRUE(r.scenario.has_value()) << format(r.problems);
  if (!r.scenario || r.scenario->job.faults.size() != 1) return {};
  return r.scenario->job.faults.front();
}

TEST(FailureFields, AFaultAtATime) {
  Fault const f = fault_of(with_fault("{at: 2 min, kill: {rank: 3}}"));
  EXPECT_EQ(f.kind, FaultKind::kill);
  ASSERT_TRUE(f.at.has_value());
  EXPECT_DOUBLE_EQ(f.at->value, 120);
  EXPECT_EQ(f.pool, 0);
  EXPECT_EQ(f.ranks, std::vector<int>{3});
}

// Steps count from 1 in the file and from 0 in the job.
TEST(FailureFields, AFaultInAPhase) {
  Fault f = fault_of(with_fault("{on: {step: 2, phase: old_logprob, after: 1.5 s}, raise: {rank: 0}}"));
  EXPECT_EQ(f.kind, FaultKind::raise);
  EXPECT_FALSE(f.at.has_value());
  EXPECT_EQ(f.step, 1);
  EXPECT_EQ(f.phase, Phase::old_logprob);
  EXPECT_DOUBLE_EQ(f.after.value, 1.5);
  f = fault_of(with_fault("{on: {step: 1}, raise: {rank: 0}}"));
  EXPECT_EQ(f.step, 0);
  EXPECT_EQ(f.phase, Phase::update_actor);
  EXPECT_DOUBLE_EQ(f.after.value, 0);
}

TEST(FailureFields, AHangIsOfARankOrOfTheScoring) {
  EXPECT_EQ(fault_of(with_fault("{at: 1 s, hang: {rank: 15}}")).ranks, std::vector<int>{15});
  Fault const f = fault_of(with_fault("{on: {step: 1, phase: score}, hang: {}}"));
  EXPECT_EQ(f.kind, FaultKind::hang);
  EXPECT_EQ(f.phase, Phase::score);
  EXPECT_TRUE(f.ranks.empty());
}

TEST(FailureFields, ASkipIsOfOneMicroBatch) {
  Fault f = fault_of(sharded("{on: {step: 1, phase: update_actor}, skip: {rank: 4}}"));
  EXPECT_EQ(f.kind, FaultKind::skip);
  EXPECT_EQ(f.ranks, std::vector<int>{4});
  EXPECT_EQ(f.micro_batches, 1);
  f = fault_of(sharded("{on: {step: 1, phase: update_actor}, skip: {rank: 4, micro_batches: 3}}"));
  EXPECT_EQ(f.micro_batches, 3);
}

TEST(FailureFields, ADesyncIsOfARank) {
  Fault const f = fault_of(with_fault("{on: {step: 1}, desync: {rank: 2}}"));
  EXPECT_EQ(f.kind, FaultKind::desync);
  EXPECT_EQ(f.ranks, std::vector<int>{2});
}

TEST(FailureFields, SlowRanksHaveAFactor) {
  Fault const f = fault_of(with_fault("{at: 0 s, slow: {ranks: [1, 9], factor: 1.4}}"));
  EXPECT_EQ(f.kind, FaultKind::slow);
  EXPECT_EQ(f.ranks, (std::vector<int>{1, 9}));
  EXPECT_DOUBLE_EQ(f.factor, 1.4);
}

// By default the first NIC of the first node, and nothing of it is left.
TEST(FailureFields, ALinkIsCutByDefault) {
  Fault f = fault_of(with_fault("{at: 0 s, link: {}}"));
  EXPECT_EQ(f.kind, FaultKind::link);
  EXPECT_EQ(f.node, 0);
  EXPECT_EQ(f.nic, 0);
  EXPECT_DOUBLE_EQ(f.factor, 0);
  f = fault_of(with_fault("{at: 0 s, link: {node: 1, nic: 7, factor: 0.25}}"));
  EXPECT_EQ(f.node, 1);
  EXPECT_EQ(f.nic, 7);
  EXPECT_DOUBLE_EQ(f.factor, 0.25);
}

TEST(FailureFields, AServerIsOfTheRolloutsPool) {
  EXPECT_EQ(fault_of(with_fault("{at: 0 s, server: {engine: 2}}")).ranks, std::vector<int>{2});
  std::string text = with_fault("{at: 0 s, server: {engine: 2}}");
  text.insert(text.find("schedule:"), "pools: {train: {nodes: 1}, rollout: {nodes: 1}}\n");
  text.replace(text.find("rollout: {engine"), 10, "rollout: {pool: rollout, ");
  Fault const f = fault_of(text);
  EXPECT_EQ(f.pool, 1);
  EXPECT_EQ(f.ranks, std::vector<int>{2});
}

TEST(FailureFields, SeveralFaultsKeepTheirOrder) {
  ScenarioResult const r = read(with_fault("{at: 9 s, kill: {rank: 3}}\n  - {at: 1 s, hang: {rank: 4}}"));
  ASSERT_TRUE(r.scenario.has_value()) << format(r.problems);
  ASSERT_EQ(r.scenario->job.faults.size(), 2u);
  EXPECT_EQ(r.scenario->job.faults[0].kind, FaultKind::kill);
  EXPECT_EQ(r.scenario->job.faults[1].kind, FaultKind::hang);
}

// ---- mistakes

// One problem, where `at` stands in the line of the fault.
void expect_mistake(std::string const& text, std::string const& at, std::string const& what) {
  ScenarioResult const r = read(text);
  EXPECT_FALSE(r.scenario.has_value()) << text.substr(text.find("faults:"));
  auto const start = text.find("  - ");
  auto const line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(start), '\n');
  auto const column = text.find(at, start) - start + 1;
  for (Problem const& p : r.problems) {
    if (p.what.find(what) == std::string::npos) continue;
    EXPECT_EQ(p.line, line) << format(p);
    EXPECT_EQ(static_cast<std::size_t>(p.column), column) << format(p);
    EXPECT_EQ(p.key.find("faults"), 0u) << format(p);
    EXPECT_FALSE(p.remedy.empty()) << format(p);
    return;
  }
  ADD_FAILURE() << "no problem says '" << what << "' in\n" << format(r.problems);
}

TEST(FailureFieldsMistake, AKindThatIsNone) {
  expect_mistake(with_fault("{at: 1 s, kil: {rank: 3}}"), "kil", "unknown key");
  expect_mistake(with_fault("{at: 1 s, kil: {rank: 3}}"), "{at", "says not what goes wrong");
}

TEST(FailureFieldsMistake, TwoKinds) {
  expect_mistake(with_fault("{at: 1 s, kill: {rank: 3}, hang: {rank: 4}}"), "{at", "more than one thing");
}

TEST(FailureFieldsMistake, NoTimeAndTwo) {
  expect_mistake(with_fault("{kill: {rank: 3}}"), "{kill", "needs a time or a phase");
  expect_mistake(with_fault("{at: 1 s, on: {step: 1}, kill: {rank: 3}}"), "{at", "has a time and a phase");
}

TEST(FailureFieldsMistake, ANegativeTimeAndStepZero) {
  expect_mistake(with_fault("{at: -1 s, kill: {rank: 3}}"), "-1 s", "");
  expect_mistake(with_fault("{on: {step: 0}, kill: {rank: 3}}"), "0}", "");
}

TEST(FailureFieldsMistake, NotAMapAndNotAList) {
  expect_mistake(with_fault("kill"), "kill", "not a map");
  ScenarioResult const r = read(example_text() + "faults: {at: 1 s}\n");
  EXPECT_NE(problem_of(r, "faults").what.find("not a list"), std::string::npos);
  EXPECT_EQ(problem_of(r, "faults").column, 9);
}

TEST(FailureFieldsMistake, WhatIsMissing) {
  expect_mistake(with_fault("{at: 1 s, kill: {}}"), "kill", "is missing");
  expect_mistake(with_fault("{at: 1 s, server: {}}"), "server", "is missing");
  expect_mistake(with_fault("{at: 1 s, slow: {ranks: [1]}}"), "slow", "is missing");
  expect_mistake(with_fault("{at: 1 s, slow: {factor: 2}}"), "slow", "is missing");
}

TEST(FailureFieldsMistake, RanksThatAreNoList) {
  expect_mistake(with_fault("{at: 1 s, slow: {ranks: 3, factor: 2}}"), "3, factor", "not a list of ranks");
  expect_mistake(with_fault("{at: 1 s, slow: {ranks: [1, x], factor: 2}}"), "[1", "not a list of ranks");
  expect_mistake(with_fault("{at: 1 s, slow: {ranks: [], factor: 2}}"), "[]", "not a list of ranks");
}

TEST(FailureFieldsMistake, FactorsOutOfRange) {
  expect_mistake(with_fault("{at: 1 s, slow: {ranks: [1], factor: 0.5}}"), "0.5", "");
  expect_mistake(with_fault("{at: 1 s, link: {factor: 2}}"), "2}", "");
}

// The checks across fields say where the fault stands.
TEST(FailureFieldsMistake, ARankThatIsNotThere) {
  expect_mistake(with_fault("{at: 1 s, kill: {rank: 16}}"), "{at", "there is no rank 16 among 16 GPUs");
  expect_mistake(with_fault("{at: 1 s, slow: {ranks: [0, 99], factor: 2}}"), "{at",
                 "there is no rank 99 among 16 GPUs");
}

// TP 1: sixteen engines, 0 to 15.
TEST(FailureFieldsMistake, AnEngineThatIsNotThere) {
  expect_mistake(with_fault("{at: 1 s, server: {engine: 16}}"), "{at", "there is no engine 16 among 16");
}

TEST(FailureFieldsMistake, APhaseThatDoesNotCome) {
  expect_mistake(with_fault("{on: {step: 1, phase: update_critic}, kill: {rank: 3}}"), "{on",
                 "a step of this job has no update_critic");
  expect_mistake(with_fault("{on: {step: 1, phase: checkpoint}, kill: {rank: 3}}"), "{on",
                 "a step of this job has no checkpoint");
  expect_mistake(with_fault("{on: {step: 1, phase: updaate}, kill: {rank: 3}}"), "updaate", "");
}

TEST(FailureFieldsMistake, ALinkOnOneNodeAndANicThatIsNotThere) {
  std::string text = with_fault("{at: 1 s, link: {}}");
  text.replace(text.find("nodes: 2"), 8, "nodes: 1");
  expect_mistake(text, "{at", "one node has no network");
  expect_mistake(with_fault("{at: 1 s, link: {node: 2}}"), "{at", "there is no NIC 0 of node 2");
  expect_mistake(with_fault("{at: 1 s, link: {nic: 8}}"), "{at", "there is no NIC 8 of node 0");
}

TEST(FailureFieldsMistake, ASkipWithoutFsdpOrAtATime) {
  expect_mistake(with_fault("{on: {step: 1}, skip: {rank: 3}}"), "{on", "only ranks that gather layers");
  expect_mistake(sharded("{at: 1 s, skip: {rank: 3}}"), "{at", "only ranks that gather layers");
  expect_mistake(sharded("{on: {step: 1, phase: old_logprob}, skip: {rank: 3}}"), "{on",
                 "only updates run micro-batches");
  expect_mistake(with_fault("{on: {step: 1, phase: generate}, desync: {rank: 3}}"), "{on",
                 "only updates run micro-batches");
}

TEST(FailureFieldsMistake, AHangOfTheScoringElsewhere) {
  expect_mistake(with_fault("{at: 1 s, hang: {}}"), "{at", "needs its phase");
  expect_mistake(with_fault("{on: {step: 1, phase: update_actor}, hang: {}}"), "{on", "needs its phase");
}

// Memory that is never freed is read, and no run knows it yet.
// ---- who notices

TEST(FailureFields, WatchdogAndLauncherAreTheFrameworks) {
  Job const job = read_example().scenario->job;  // nemo-rl: one driver
  EXPECT_EQ(job.launcher.kind, LauncherKind::ray);
  EXPECT_TRUE(job.framework.single_controller);
  EXPECT_DOUBLE_EQ(job.watchdog.poll.value, 0.1);
  EXPECT_EQ(job.watchdog.error_handling, ErrorHandling::skip_clean_up);
  EXPECT_DOUBLE_EQ(
      read_example({"framework=trl", "algorithm.prompts=64"}).scenario->job.watchdog.timeout.value, 1800);
}

TEST(FailureFields, WatchdogLauncherAndNetworkAreRead) {
  ScenarioResult const r = read_example(
      {"watchdog={timeout: 2 h, poll: 1 s, error_handling: clean_up_only, dump_on_timeout: false, dump_wait: "
       "60 s, monitoring: false, heartbeat: 10 min, abort_hangs: true, rpc_timeout: 40 s, worker_heartbeat: "
       "5 s, missed_heartbeats: 4}",
       "launcher={kind: none, notice: 2 s, same_node: 3 s, other_nodes: 4 s}",
       "network={rpc_flows: 16, rpc_bandwidth: 20 GB/s, rpc_apart: true, collectives_share: 0.5}"});
  ASSERT_TRUE(r.scenario.has_value()) << format(r.problems);
  WatchdogOptions const& w = r.scenario->job.watchdog;
  EXPECT_DOUBLE_EQ(w.timeout.value, 7200);
  EXPECT_DOUBLE_EQ(w.poll.value, 1);
  EXPECT_EQ(w.error_handling, ErrorHandling::clean_up_only);
  EXPECT_FALSE(w.dump_on_timeout);
  EXPECT_DOUBLE_EQ(w.dump_wait.value, 60);
  EXPECT_FALSE(w.monitoring);
  EXPECT_DOUBLE_EQ(w.heartbeat.value, 600);
  EXPECT_TRUE(w.abort_hangs);
  EXPECT_DOUBLE_EQ(w.rpc_timeout.value, 40);
  EXPECT_DOUBLE_EQ(w.worker_heartbeat.value, 5);
  EXPECT_EQ(w.missed_heartbeats, 4);
  LauncherOptions const& l = r.scenario->job.launcher;
  EXPECT_EQ(l.kind, LauncherKind::none);
  EXPECT_DOUBLE_EQ(l.notice.value, 2);
  EXPECT_DOUBLE_EQ(l.same_node.value, 3);
  EXPECT_DOUBLE_EQ(l.other_nodes.value, 4);
  NetworkOptions const& n = r.scenario->job.network;
  EXPECT_EQ(n.rpc_flows, 16);
  EXPECT_DOUBLE_EQ(n.rpc_bandwidth.value, 20e9);
  EXPECT_TRUE(n.rpc_apart);
  EXPECT_DOUBLE_EQ(n.collectives_share, 0.5);
}

TEST(FailureFieldsMistake, OptionsOutOfRange) {
  problem_of(read_example({"watchdog.timeout=0 s"}), "watchdog.timeout");
  problem_of(read_example({"watchdog.error_handling=panic"}), "watchdog.error_handling");
  problem_of(read_example({"watchdog.missed_heartbeats=0"}), "watchdog.missed_heartbeats");
  problem_of(read_example({"launcher.kind=slurm"}), "launcher.kind");
  problem_of(read_example({"launcher.notice=-1 s"}), "launcher.notice");
  problem_of(read_example({"network.rpc_flows=-1"}), "network.rpc_flows");
  problem_of(read_example({"network.collectives_share=1.5"}), "network.collectives_share");
}

}  // namespace
}  // namespace rollcast
