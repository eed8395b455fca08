// A weight sync to other nodes shares the sender's NIC with what else is on the network.
#include <gtest/gtest.h>

#include "models/weight_sync.hpp"
#include "sim/simulate.hpp"
#include "tests/models/price_fixtures.hpp"
#include "tests/sim/child_process.hpp"

namespace rollcast {
namespace {

constexpr char const* kText = R"(
model: llama-3.2-1b
cluster: {node: hgx-h100, nodes: 2}
pools: {train: {nodes: 1}, rollout: {nodes: 1}}
framework: verl
algorithm: {kind: grpo, prompts: 16, group_size: 8, train_batch: 128}
workload: {prompt_tokens: 100, response_tokens: 100}
train: {pool: train, trainer: fsdp2, micro_batch: 1, logprob_micro_batch: 1}
rollout: {pool: rollout, engine: vllm, parallel: {tp: 1}}
)";

EventLog run(std::vector<std::string> sets) {
  ScenarioResult const read = read_scenario_text(kText, "sync.yaml", {std::move(sets), {}});
  if (!read.scenario) throw std::logic_error(format(read.problems));
  return simulate(*read.scenario, round_profile(), {.steps = 1, .seed = 1});
}

// Seconds of the part on the wire.
double wire(EventLog const& log) {
  double sum = 0;
  for (Span const& s : log.spans) {
    bool const sends = log.labels[static_cast<std::size_t>(s.label)] == name_of(SyncCause::wire);
    if (sends && s.rank_class == 0) sum += (s.end - s.start).value;
  }
  return sum;
}

double wire_with(std::string const& network) {
  return in_child([&] { return std::vector<double>{wire(run({"network=" + network}))}; }).at(0);
}

// Nine streams of calls that want more than there is leave the sync a tenth of the NIC; its latencies stay.
TEST(WeightSyncFlow, CallsTakeTheirPartOfTheNic) {
  double const alone = wire_with("{}");
  double const shared = wire_with("{rpc_flows: 9, rpc_bandwidth: 1 TB/s}");
  ASSERT_GT(alone, 0.01);
  EXPECT_NEAR(shared / alone, 10, 0.2);
}

TEST(WeightSyncFlow, SubnetsAndSharesIsolateIt) {
  double const alone = wire_with("{}");
  EXPECT_NEAR(wire_with("{rpc_flows: 9, rpc_bandwidth: 1 TB/s, rpc_apart: true}"), alone, 1e-6 * alone);
  double const half = wire_with("{rpc_flows: 9, rpc_bandwidth: 1 TB/s, collectives_share: 0.5}");
  EXPECT_NEAR(half / alone, 2, 0.02);
}

// Streams that want 10 of 50 GB/s, of which the profile gives 0.9, leave 35.
TEST(WeightSyncFlow, StreamsThatWantLittleTakeLittle) {
  double const alone = wire_with("{}");
  EXPECT_NEAR(wire_with("{rpc_flows: 9, rpc_bandwidth: 10 GB/s}") / alone, 45.0 / 35.0, 0.01);
}

// Nobody times NCCL outside of c10d; c10d does.
TEST(WeightSyncFlow, ACutCableStopsIt) {
  EventLog const log =
      run({"faults=[{on: {step: 1, phase: weight_sync}, link: {node: 0, nic: 0, factor: 0}}]"});
  EXPECT_EQ(log.outcome, Outcome::stalled);
  ASSERT_EQ(log.stalls.size(), 1u);
  EXPECT_EQ(log.stalls.front().kind, StallKind::hang);
  EXPECT_FALSE(log.stalls.front().killed);
}

TEST(WeightSyncFlow, WithAWatchdogItIsFound) {
  EventLog const log =
      run({"faults=[{on: {step: 1, phase: weight_sync}, link: {node: 0, nic: 0, factor: 0}}]",
           "framework.sync_watchdog=true"});
  ASSERT_EQ(log.stalls.size(), 1u);
  EXPECT_EQ(log.stalls.front().kind, StallKind::watchdog);
  EXPECT_NEAR((*log.stalls.front().detected - *log.stalls.front().enqueued).value, 600, 0.11);
}

}  // namespace
}  // namespace rollcast
