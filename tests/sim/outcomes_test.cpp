// What a run comes to on a small cluster: its phases, its length, an out-of-memory, a refusal.
#include <gtest/gtest.h>

#include <algorithm>

#include "models/catalog/catalog.hpp"
#include "models/rollout_prices.hpp"
#include "sim/simulate.hpp"
#include "tests/models/price_fixtures.hpp"
#include "tests/sim/child_process.hpp"

namespace rollcast {
namespace {

// Llama-3.2-1B on one node of 8 H100: small enough for any layout.
Scenario small_scenario() {
  Scenario s;
  s.name = "small";
  Job& job = s.job;
  job.model = *find_architecture(builtin_catalog(), "llama-3.2-1b");
  job.cluster = h100_cluster(1);
  job.framework.order = {Phase::generate,  Phase::score,        Phase::sleep,       Phase::old_logprob,
                         Phase::reference, Phase::update_actor, Phase::weight_sync, Phase::wake};
  job.framework.sleep_fixed = seconds(0.5);
  job.framework.wake_fixed = seconds(0.5);
  job.framework.driver_per_step = seconds(0.2);
  job.algorithm = {.kind = AlgorithmKind::grpo,
                   .prompts = 16,
                   .group_size = 8,
                   .train_batch = 64,
                   .kl_reference = true,
                   .dynamic_sampling = {},
                   .adapter = {}};
  job.workload.prompt_tokens = {FixedLength{100}, 0, 100};
  job.workload.response_tokens = {LogNormalLength{5.5, 0.7, 1500}, 0, 1500};
  job.train.packing = true;
  job.train.micro_batch = 1;
  job.train.distributed_optimizer = true;
  job.rollout.gpu_memory_utilization = 0.5;
  job.rollout.max_model_len = 1600;
  return s;
}

// Once per test: a process holds one simulation.
EventLog run(Scenario const& s, int steps = 2) {
  return simulate(s, round_profile(), {.steps = steps, .seed = 7});
}

TEST(Outcomes, PhasesFollowTheFrameworksOrderWithoutGaps) {
  Scenario const s = small_scenario();
  EventLog const log = run(s);
  ASSERT_EQ(log.phases.size(), 2 * s.job.framework.order.size());
  Seconds end;
  for (std::size_t i = 0; i < log.phases.size(); ++i) {
    EXPECT_EQ(log.phases[i].phase, s.job.framework.order[i % s.job.framework.order.size()]);
    EXPECT_NEAR(log.phases[i].start.value, end.value, 1e-9);
    end = log.phases[i].end;
  }
  EXPECT_NEAR(log.steps.back().end.value, end.value, 1e-9);
}

// Without a reference the step lacks exactly that phase.
TEST(Outcomes, ReferenceIsOptional) {
  Scenario s = small_scenario();
  s.job.algorithm.kl_reference = false;
  EventLog const log = run(s, 1);
  EXPECT_EQ(log.phases.size(), s.job.framework.order.size() - 1);
  EXPECT_TRUE(std::none_of(log.phases.begin(), log.phases.end(),
                           [](PhaseWindow const& w) { return w.phase == Phase::reference; }));
}

// One sequence of 10 tokens per engine and step, nothing else in the order: the phase lasts as long as the
// engine's own prices say. Prefill of 100 tokens (one step, first token), then 9 decode steps at contexts 101
// to 109.
TEST(Outcomes, GenerationTakesWhatTheEnginesPricesSay) {
  Scenario s = small_scenario();
  s.job.framework.order = {Phase::generate};
  s.job.algorithm = {.kind = AlgorithmKind::grpo,
                     .prompts = 8,
                     .group_size = 1,
                     .train_batch = 8,
                     .dynamic_sampling = {},
                     .adapter = {}};
  s.job.workload.response_tokens = {FixedLength{10}, 0, 10};
  StepPrices const p = rollout_step_prices(round_profile(), s.job.model, s.job.rollout, s.job.cluster);
  double expected = (p.fixed + p.per_sequence).value + p.dense.at(100) +
                    std::max(p.prefill.at(100 * 101 / 2), 100 * p.chunk_read);
  for (int context = 101; context <= 109; ++context) {
    expected += (p.fixed + p.per_sequence).value + p.dense.at(1) + decode_curve(p, 1).at(context);
  }
  EventLog const log = run(s, 1);
  EXPECT_NEAR(log.steps[0].end.value, expected, 1e-9 + 1e-6 * expected);
}

TEST(Outcomes, AnOvercommittedCardIsAnOutOfMemoryWithItsPhase) {
  Scenario s = small_scenario();
  s.job.cluster.node.gpu.visible_memory = GiB(16);
  s.job.train.distributed_optimizer = false;  // 16 B x 1.24e9 = 19.8 GB on every card
  s.job.rollout.gpu_memory_utilization = 0.7;
  EventLog const log = run(s, 1);
  ASSERT_EQ(log.outcome, Outcome::oom) << log.outcome_reason;
  ASSERT_EQ(log.ooms.size(), 1u);
  OomRecord const& oom = log.ooms[0];
  EXPECT_EQ(oom.phase, Phase::update_actor);
  EXPECT_GT(oom.requested.value, oom.free.value);
  EXPECT_FALSE(log.outcome_reason.empty());
}

TEST(Outcomes, AnEngineWithoutRoomForKvRefusesToStart) {
  Scenario s = small_scenario();
  s.job.rollout.gpu_memory_utilization = 0.02;
  EventLog const log = run(s, 1);
  EXPECT_EQ(log.outcome, Outcome::refused);
  EXPECT_NE(log.outcome_reason.find("gpu_memory_utilization"), std::string::npos);
  EXPECT_TRUE(log.steps.empty());
}

// A colocated run whose engine, asleep in the update, holds 60 GiB of KV awake: the wake needs more than the
// update does.
Scenario large_engine() {
  Scenario s = small_scenario();
  s.job.train.distributed_optimizer = false;
  s.job.rollout.gpu_memory_utilization = 0.1;
  s.job.rollout.kv_cache_bytes = GiB(60);
  return s;
}

// Outcome with as much memory as the ledger's wake needs less `missing`.
EventLog run_with_missing(Scenario s, Bytes missing) {
  Bytes const need = total(memory_ledger(s.job).front(), Phase::wake);
  s.job.cluster.node.gpu.visible_memory = need - missing;
  return run(s);
}

void expect_oom_at_first_wake(EventLog const& log) {
  ASSERT_EQ(log.outcome, Outcome::oom) << log.outcome_reason;
  EXPECT_EQ(log.ooms[0].phase, Phase::wake);
  EXPECT_EQ(log.ooms[0].step, 0);
  EXPECT_EQ(log.ooms[0].kind, OomKind::driver);
  EXPECT_EQ(log.ooms[0].allocation, "rollout kv_pages: KV pages");
}

// The optimizer's states, 8 B x 1,235,814,400 = 9.2 GiB, are made in the first update: the first rollout
// fits, the wake after it does not (verl#1349). Offloaded, they are away when the engine wakes.
TEST(Outcomes, StatesOfTheFirstUpdateAreInTheWayOfTheWake) {
  Scenario s = large_engine();
  s.job.framework.optimizer_offload = false;
  expect_oom_at_first_wake(run_with_missing(s, GiB(4)));
}

TEST(Outcomes, OffloadedStatesLeaveRoomForTheWake) {
  Scenario s = large_engine();
  s.job.framework.optimizer_offload = false;
  s.job.cluster.node.gpu.visible_memory = total(memory_ledger(s.job).front(), Phase::wake) - GiB(4);
  s.job.framework.optimizer_offload = true;
  EXPECT_EQ(run(s).outcome, Outcome::completed);
}

// What PyTorch keeps of the update's peak is of no use to the engine's pool (verl#632).
TEST(Outcomes, CachedBlocksAreInTheWayOfTheWake) {
  Scenario s = large_engine();
  s.job.framework.empty_cache = false;
  expect_oom_at_first_wake(run_with_missing(s, GiB(4)));
}

TEST(Outcomes, AnEmptiedCacheLeavesRoomForTheWake) {
  Scenario s = large_engine();
  s.job.framework.empty_cache = false;
  s.job.cluster.node.gpu.visible_memory = total(memory_ledger(s.job).front(), Phase::wake) - GiB(4);
  s.job.framework.empty_cache = true;
  EXPECT_EQ(run(s).outcome, Outcome::completed);
}

// Eight ranks with two copies of the actor and one of the reference, 2.47 GB each, and two processes of 1.17
// GB: 78 GB.
TEST(Outcomes, LoadingMayFillTheHost) {
  Scenario s = small_scenario();
  s.job.train.kind = TrainerKind::deepspeed;
  s.job.framework.load_copies = 2;
  s.job.rollout.sleep_level = 2;
  s.job.cluster.node.host_memory = GB(50);
  EventLog const log = run(s);
  ASSERT_EQ(log.outcome, Outcome::oom) << log.outcome_reason;
  EXPECT_EQ(log.ooms[0].kind, OomKind::host);
  EXPECT_NEAR(log.ooms[0].requested.value, 8 * (2 * 1.17e9 + 3 * 2 * 1'235'814'400.0), 1e8);
  EXPECT_TRUE(log.steps.empty());
}

double step_seconds(Scenario const& s) {
  return in_child([&] { return std::vector<double>{run(s, 1).steps[0].end.value}; }).at(0);
}

// Longer responses, more samples: never a shorter step.
TEST(Outcomes, MoreWorkTakesLonger) {
  Scenario const s = small_scenario();
  double const base = step_seconds(s);
  Scenario longer = s;
  longer.job.workload.response_tokens.shape = LogNormalLength{6.0, 0.7, 1500};
  EXPECT_GT(step_seconds(longer), base);
  Scenario more = s;
  more.job.algorithm.prompts = 32;
  EXPECT_GT(step_seconds(more), base);
}

}  // namespace
}  // namespace rollcast
