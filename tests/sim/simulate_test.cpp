// Whole runs on small clusters: what must hold whatever the layout.
#include "sim/simulate.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "models/catalog/catalog.hpp"
#include "models/rollout_prices.hpp"
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

std::vector<Scenario> layouts() {
  std::vector<Scenario> all;
  auto const add = [&](auto const& change) {
    all.push_back(small_scenario());
    change(all.back().job);
  };
  add([](Job&) {});
  add([](Job& j) { j.train.parallel = {.tp = 2, .pp = 2}; });
  add([](Job& j) {
    j.train.parallel = {.tp = 2, .pp = 1, .cp = 2};
    j.rollout.parallel.tp = 2;
  });
  add([](Job& j) {
    j.train.parallel = {.tp = 1, .pp = 8};
    j.train.recompute = Recompute::full;
  });
  add([](Job& j) {
    j.train.packing = false;
    j.train.micro_batch = 2;
    j.train.overlap_gradient_reduce = false;
  });
  add([](Job& j) {
    j.train.distributed_optimizer = false;
    j.algorithm.kl_reference = false;
  });
  add([](Job& j) {
    j.train.overlap_parameter_gather = false;
    j.algorithm.epochs = 2;
  });
  add([](Job& j) {
    j.cluster.nodes = 3;
    j.rollout.parallel.tp = 8;
    j.algorithm.prompts = 24;
    j.algorithm.train_batch = 192;
  });
  return all;
}

class Layouts : public testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Simulate, Layouts, testing::Range(std::size_t{0}, layouts().size()));

TEST_P(Layouts, CompleteTheirSteps) {
  Scenario const s = layouts()[GetParam()];
  EventLog const log = run(s);
  ASSERT_EQ(log.outcome, Outcome::completed) << log.outcome_reason;
  ASSERT_EQ(log.steps.size(), 2u);
  EXPECT_LE(log.steps[0].end.value, log.steps[1].start.value);
  for (StepRecord const& step : log.steps) {
    EXPECT_EQ(step.samples, s.job.algorithm.samples());
    EXPECT_EQ(step.prompt_tokens, 100 * step.samples);
  }
}

TEST_P(Layouts, SpansLieInTheirPhaseAndDoNotOverlapOnAStream) {
  Scenario const s = layouts()[GetParam()];
  EventLog const log = run(s);
  std::map<std::pair<int, Phase>, PhaseWindow> windows;
  for (PhaseWindow const& w : log.phases) windows[{w.step, w.phase}] = w;
  std::map<std::pair<int, Stream>, std::vector<Span>> tracks;
  for (Span const& span : log.spans) {
    PhaseWindow const& w = windows.at({span.step, span.phase});
    EXPECT_GE(span.start.value, w.start.value - 1e-6) << log.labels[static_cast<std::size_t>(span.label)];
    EXPECT_LE(span.end.value, w.end.value + 1e-6) << log.labels[static_cast<std::size_t>(span.label)];
    tracks[{span.rank_class, span.stream}].push_back(span);
  }
  for (auto& [track, spans] : tracks) {
    std::sort(spans.begin(), spans.end(), [](Span const& a, Span const& b) { return a.start < b.start; });
    for (std::size_t i = 1; i < spans.size(); ++i) {
      EXPECT_GE(spans[i].start.value, spans[i - 1].end.value - 1e-6)
          << log.labels[static_cast<std::size_t>(spans[i - 1].label)] << " and "
          << log.labels[static_cast<std::size_t>(spans[i].label)];
    }
  }
}

TEST(Simulate, PhasesFollowTheFrameworksOrderWithoutGaps) {
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
TEST(Simulate, ReferenceIsOptional) {
  Scenario s = small_scenario();
  s.job.algorithm.kl_reference = false;
  EventLog const log = run(s, 1);
  EXPECT_EQ(log.phases.size(), s.job.framework.order.size() - 1);
  EXPECT_TRUE(std::none_of(log.phases.begin(), log.phases.end(),
                           [](PhaseWindow const& w) { return w.phase == Phase::reference; }));
}

// Each sample is handed from one engine to one replica, once a step.
TEST_P(Layouts, EverySampleIsHandedOverOnce) {
  Scenario const s = layouts()[GetParam()];
  EventLog const log = run(s);
  std::map<int, int> handed;
  for (Handover const& h : log.handovers) handed[h.step] += h.samples;
  EXPECT_EQ(handed[0], s.job.algorithm.samples());
  EXPECT_EQ(handed[1], s.job.algorithm.samples());
}

// Model FLOPs of an update: 3 x forward over every token of the step, whatever the layout; packs that are not
// padded compute no token twice. 6 x parameters x tokens is within the attention's share.
TEST(Simulate, UpdateDoesTheWorkOfAllTokens) {
  Scenario const s = small_scenario();
  EventLog const log = run(s, 1);
  double flops = 0;
  for (Span const& span : log.spans) {
    if (span.phase == Phase::update_actor) {
      flops += span.flops.value *
               static_cast<double>(log.rank_classes[static_cast<std::size_t>(span.rank_class)].ranks.size());
    }
  }
  double const tokens = static_cast<double>(log.steps[0].prompt_tokens + log.steps[0].response_tokens);
  // The tied embedding is a product once, as lm_head.
  double const expected = 6.0 * static_cast<double>(count_parameters(s.job.model).total) * tokens;
  EXPECT_GT(flops, expected);
  EXPECT_LT(flops, 1.10 * expected);
}

// One sequence of 10 tokens per engine and step, nothing else in the order: the phase lasts as long as the
// engine's own prices say. Prefill of 100 tokens (one step, first token), then 9 decode steps at contexts 101
// to 109.
TEST(Simulate, GenerationTakesWhatTheEnginesPricesSay) {
  Scenario s = small_scenario();
  s.job.framework.order = {Phase::generate};
  s.job.algorithm = {
      .kind = AlgorithmKind::grpo, .prompts = 8, .group_size = 1, .train_batch = 8, .adapter = {}};
  s.job.workload.response_tokens = {FixedLength{10}, 0, 10};
  StepPrices const p = rollout_step_prices(round_profile(), s.job.model, s.job.rollout, s.job.cluster);
  double expected = (p.fixed + p.per_sequence).value + p.dense.at(100) + p.prefill_per_pair * 100 * 101 / 2;
  for (int context = 101; context <= 109; ++context) {
    expected += (p.fixed + p.per_sequence).value + p.dense.at(1) + decode_curve(p, 1).at(context);
  }
  EventLog const log = run(s, 1);
  EXPECT_NEAR(log.steps[0].end.value, expected, 1e-9 + 1e-6 * expected);
}

TEST(Simulate, AnOvercommittedCardIsAnOutOfMemoryWithItsPhase) {
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

TEST(Simulate, AnEngineWithoutRoomForKvRefusesToStart) {
  Scenario s = small_scenario();
  s.job.rollout.gpu_memory_utilization = 0.02;
  EventLog const log = run(s, 1);
  EXPECT_EQ(log.outcome, Outcome::refused);
  EXPECT_NE(log.outcome_reason.find("gpu_memory_utilization"), std::string::npos);
  EXPECT_TRUE(log.steps.empty());
}

double step_seconds(Scenario const& s) {
  return in_child([&] { return std::vector<double>{run(s, 1).steps[0].end.value}; }).at(0);
}

// Longer responses, more samples: never a shorter step.
TEST(Simulate, MoreWorkTakesLonger) {
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
