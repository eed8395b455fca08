// What must hold for every run, whatever its layout: time is neither lost nor counted twice, every sample is
// generated and trained on, and the work is that of the algorithm.
#include "sim/simulate.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/models/price_fixtures.hpp"
#include "tests/sim/child_process.hpp"

namespace rollcast {
namespace {

constexpr int kSamples = 16 * 8;
constexpr int kPrompt = 128;
constexpr int kResponse = 384;

// Two nodes, 16 prompts x 8 samples of 128 + 384 tokens, two optimizer steps.
Scenario small_grpo() {
  Scenario s;
  s.name = "small";
  Job& job = s.job;
  job = llama_job(2);
  job.model = catalog_model("llama-3.2-1b");
  using enum Phase;
  job.framework.order = {generate,  score,        sleep,       advantage, old_logprob,
                         reference, update_actor, weight_sync, wake};
  job.framework.sleep_fixed = job.framework.driver_per_step = Seconds(0.25);
  job.algorithm = {.prompts = 16,
                   .group_size = 8,
                   .train_batch = 64,
                   .kl_reference = true,
                   .dynamic_sampling = {},
                   .adapter = {}};
  job.workload.prompt_tokens = {FixedLength{kPrompt}, 0, 0};
  job.workload.response_tokens = {FixedLength{kResponse}, 0, 0};
  job.train.packing = job.train.equal_packs = true;
  job.train.distributed_optimizer = true;
  return s;
}

std::vector<Scenario> layouts() {
  std::vector<Scenario> all;
  auto const add = [&](auto const& change) {
    all.push_back(small_grpo());
    change(all.back().job);
  };
  add([](Job&) {});
  add([](Job& j) { j.train.parallel = {.pp = 4}; });
  add([](Job& j) { j.train.parallel = {.tp = 2, .pp = 2, .cp = 2}; });
  add([](Job& j) {
    j.train.parallel = {.tp = 8};
    j.train.sequence_parallel = true;
    j.rollout.parallel = {.tp = 2, .pp = 2};
  });
  add([](Job& j) {
    j.train.packing = j.train.distributed_optimizer = false;
    j.train.overlap_gradient_reduce = false;
    j.train.recompute = Recompute::full;
  });
  add([](Job& j) {
    j.algorithm.epochs = 2;
    j.train.parallel = {.pp = 2};
    j.workload.response_tokens = {LogNormalLength{5.5, 1, 2000}, 0, 0};
  });
  return all;
}

EventLog run(Scenario const& s) { return simulate(s, round_profile(), {.steps = 2, .seed = 3}); }

double kept_tokens(std::vector<RankLedger> const& ledgers, int hidden, int layers) {
  for (LedgerLine const& l : ledgers.front().lines) {
    if (l.name == "kept activations") return l.bytes.value / (2.0 * hidden * (layers + 2));
  }
  return 0;
}

// Two sequences of 128 + about 100 tokens a micro-batch, of 128 + 2,000 that the job allows; 16 layer inputs
// and two of the head. Without packs the run's ledger follows what it dealt, `memory` what is allowed.
TEST(Simulate, MemoryFollowsTheMicroBatchesOfTheRun) {
  Scenario s = small_grpo();
  s.job.train.packing = s.job.train.equal_packs = false;
  s.job.train.micro_batch = 2;
  s.job.train.parallel = {};
  s.job.train.recompute = Recompute::full;
  s.job.workload.response_tokens = {LogNormalLength{4.605, 0.01, 2000}, 0, 0};
  auto const tokens = [&](bool as_dealt) {
    return in_child([&] {
             RunOptions const options{.steps = 2, .seed = 3, .memory_as_dealt = as_dealt};
             return std::vector<double>{kept_tokens(simulate(s, round_profile(), options).ledgers,
                                                    s.job.model.hidden, s.job.model.layers)};
           })
        .front();
  };
  EXPECT_NEAR(tokens(false), 2 * 2128, 1e-6);
  EXPECT_NEAR(tokens(true), 2 * 228, 2 * 6);
}

TEST(Simulate, EveryMomentOfARankIsOneSpan) {
  for (Scenario const& s : layouts()) {
    in_child([&] {
      EventLog const log = run(s);
      EXPECT_EQ(log.outcome, Outcome::completed) << log.outcome_reason;
      std::map<std::pair<int, Phase>, PhaseWindow> window;
      Seconds at;
      for (PhaseWindow const& w : log.phases) {  // one after the other, from the start to the end
        EXPECT_NEAR(w.start.value, at.value, 1e-9);
        at = w.end;
        window[{w.step, w.phase}] = w;
      }
      EXPECT_NEAR(at.value, log.steps.back().end.value, 1e-9);
      std::vector<std::vector<Span>> of_class(log.rank_classes.size());
      for (Span const& span : log.spans) {
        PhaseWindow const& w = window.at({span.step, span.phase});
        EXPECT_GE(span.start.value, w.start.value - 1e-9) << log.labels[static_cast<std::size_t>(span.label)];
        EXPECT_LE(span.end.value, w.end.value + 1e-9) << log.labels[static_cast<std::size_t>(span.label)];
        of_class[static_cast<std::size_t>(span.rank_class)].push_back(span);
      }
      for (auto& spans : of_class) {
        std::sort(spans.begin(), spans.end(), [](Span const& a, Span const& b) { return a.start < b.start; });
        Seconds last;
        for (Span const& span : spans) {
          EXPECT_NEAR(span.start.value, last.value, 1e-7)
              << log.labels[static_cast<std::size_t>(span.label)] << " in " << name_of(span.phase);
          last = span.end;
        }
        EXPECT_NEAR(last.value, log.steps.back().end.value, 1e-7);
      }
      return std::vector<double>{};
    });
  }
}

TEST(Simulate, EverySampleIsHandedOverOnce) {
  for (Scenario const& s : layouts()) {
    in_child([&] {
      EventLog const log = run(s);
      std::vector<std::int64_t> handed(log.steps.size(), 0);
      for (Handover const& h : log.handovers) {
        handed[static_cast<std::size_t>(h.step)] += h.samples;
        EXPECT_LE(h.sent, h.received);
      }
      for (std::size_t i = 0; i < handed.size(); ++i) {
        EXPECT_EQ(handed[i], kSamples);
        EXPECT_EQ(log.steps[i].samples, kSamples);
      }
      return std::vector<double>{};
    });
  }
}

// FLOPs of one phase, of all ranks, in both steps.
double flops_of(EventLog const& log, Phase phase) {
  double sum = 0;
  for (Span const& span : log.spans) {
    auto const ranks = log.rank_classes[static_cast<std::size_t>(span.rank_class)].ranks.size();
    if (span.phase == phase) sum += span.flops.value * static_cast<double>(ranks);
  }
  return sum;
}

// Llama-3.2-1B: 16 layers of hidden 2048, 32 heads of 64, 8 KV heads, MLP 8192; vocabulary 128,256, tied.
// A token of a forward pass takes two FLOPs per weight of a product, a (query, key) pair 4 x 2048 per layer;
// a backward pass twice as much, recomputation not counted. A sequence has 512 tokens and 512 x 513 / 2
// pairs. The engine computes the prompt and all but the last token of the response (the attention of prompts
// is not counted); the k-th token that it decodes attends to 128 + k positions.
TEST(Simulate, WorkIsThatOfTheAlgorithm) {
  double const weights = 16 * (2 * 2048.0 * 2048 + 2 * 512.0 * 2048 + 3 * 8192.0 * 2048) + 128256.0 * 2048;
  double const pair = 16 * 4 * 2048.0;
  double const tokens = kPrompt + kResponse;
  double const forward = kSamples * (tokens * 2 * weights + tokens * (tokens + 1) / 2 * pair);
  double decoded = 0;
  for (int k = 1; k < kResponse; ++k) decoded += kPrompt + k;
  double const generate = kSamples * ((tokens - 1) * 2 * weights + decoded * pair);
  auto all = layouts();
  all.pop_back();  // lengths differ there
  for (Scenario& s : all) {
    s.job.rollout.prefix_caching = false;
    in_child([&] {
      EventLog const log = run(s);
      EXPECT_NEAR(flops_of(log, Phase::old_logprob) / (2 * forward), 1, 1e-9);
      EXPECT_NEAR(flops_of(log, Phase::reference) / (2 * forward), 1, 1e-9);
      EXPECT_NEAR(flops_of(log, Phase::update_actor) / (2 * 3 * forward), 1, 1e-9);
      EXPECT_NEAR(flops_of(log, Phase::generate) / (2 * generate), 1, 1e-9);
      return std::vector<double>{};
    });
  }
}

// All responses are equally long, so all samples are there at once and overlap hides nothing: one worker
// scores 128 samples of 0.1 s, 12.8 s, once, whether in the phase of its own or at the end of the rollout.
TEST(Simulate, SamplesAreScoredOnce) {
  auto const generate_and_score = [](Seconds each, bool overlap) {
    return in_child([&]() -> std::vector<double> {
      Scenario s = small_grpo();
      s.job.score.seconds_per_sample = each;
      s.job.score.overlap = overlap;
      double sum = 0;
      for (PhaseWindow const& w : run(s).phases) {
        if (w.step == 0 && contains({Phase::generate, Phase::score}, w.phase)) sum += (w.end - w.start).value;
      }
      return {sum};
    });
  };
  auto const free = generate_and_score(Seconds(0), false);
  ASSERT_EQ(free.size(), 1U);
  for (bool const overlap : {false, true}) {
    auto const scored = generate_and_score(Seconds(0.1), overlap);
    ASSERT_EQ(scored.size(), 1U);
    EXPECT_NEAR(scored[0], free[0] + 12.8, 1e-6) << overlap;
  }
}

}  // namespace
}  // namespace rollcast
