// Models on GPUs of their own that see samples while others are generated, and a critic that nobody waits
// for.
#include "models/experience.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "sim/simulate.hpp"
#include "tests/models/price_fixtures.hpp"
#include "tests/sim/child_process.hpp"

namespace rollcast {
namespace {

// PPO of 64 samples: a trainer and engines on a node each, eight engines with two batches of four; critic and
// reward model on `judges` GPUs.
Scenario ppo(int judges) {
  Scenario s;
  s.name = "ppo";
  Job& job = s.job;
  job = llama_job(1);
  job.model = catalog_model("llama-3.2-1b");
  job.cluster = h100_cluster(3);
  ClusterSpec judge = h100_cluster(1);
  judge.node.gpus = judge.node.nics = judges;
  job.pools = {
      {"train", h100_cluster(1), false}, {"rollout", h100_cluster(1), false}, {"judge", judge, true}};
  job.role_pools = {.actor = 0, .critic = 2, .reference = 0, .reward = 2, .rollout = 1};
  using enum Phase;
  job.framework.order = {generate,  score,         values,       old_logprob, reference,
                         advantage, update_critic, update_actor, weight_sync};
  job.algorithm.kind = AlgorithmKind::ppo;
  job.algorithm.prompts = 64;
  job.algorithm.group_size = 1;
  job.algorithm.train_batch = 64;
  job.algorithm.kl_reference = job.algorithm.reward_model = true;
  job.workload.prompt_tokens = {FixedLength{128}, 0, 0};
  job.workload.response_tokens = {FixedLength{384}, 0, 0};
  job.rollout.feed = 4;
  return s;
}

EventLog run(Scenario const& s, int steps = 1) {
  EventLog log = simulate(s, round_profile(), {.steps = steps, .seed = 3});
  EXPECT_EQ(log.outcome, Outcome::completed) << log.outcome_reason;
  return log;
}

double seconds(Scenario const& s) {
  return in_child([&] { return std::vector<double>{run(s).steps.back().end.value}; }).at(0);
}

// Of the last window of a phase.
double last_window(EventLog const& log, Phase phase) {
  double length = -1;
  for (PhaseWindow const& w : log.phases) {
    if (w.phase == phase) length = (w.end - w.start).value;
  }
  return length;
}

// What the judges compute, and the last windows of generate and values.
std::vector<double> judged(Scenario const& s) {
  return in_child([&] {
    EventLog const log = run(s);
    double busy = 0;
    for (Span const& span : log.spans) {
      bool const judges = span.phase == Phase::score || span.phase == Phase::values;
      if (judges && span.activity == Activity::compute) busy += (span.end - span.start).value;
    }
    return std::vector<double>{busy, last_window(log, Phase::generate), last_window(log, Phase::values)};
  });
}

TEST(Experience, AStreamHidesForwardsBehindTheGenerationAndLosesNoWork) {
  Scenario s = ppo(8);
  s.job.score.padded_tokens = 4096;  // longer than the log-probabilities of actor and reference take
  s.job.framework.reference_on_host = false;
  double const after = seconds(s);
  double const work = judged(s).at(0);
  s.job.framework.experience = Experience::stream;
  EXPECT_LT(seconds(s), after);
  EXPECT_NEAR(judged(s).at(0), work, 1e-6);
}

TEST(Experience, BatchesWaitForTheirForwards) {
  // As many judges as engines: each batch has one of its own, and all wait as long as the forwards of a step.
  Scenario s = ppo(8);
  double const after = seconds(s);
  s.job.framework.experience = Experience::batch;
  EXPECT_NEAR(seconds(s), after, 1e-6);
  // Two judges for eight engines.
  s = ppo(2);
  std::vector<double> const whole = judged(s);
  s.job.framework.experience = Experience::batch;
  std::vector<double> const part = judged(s);
  EXPECT_NEAR(part.at(2), batch_waits(Seconds(whole.at(2)), 2, 8, 2, Seconds(whole.at(1))).value, 1e-6);
  EXPECT_LT(part.at(2), whole.at(2));
}

TEST(Experience, CriticAndRewardModelSeePaddedSequences) {
  Scenario s = ppo(8);
  double const own = judged(s).at(2);
  s.job.score.padded_tokens = 512;  // as long as they are
  EXPECT_DOUBLE_EQ(judged(s).at(2), own);
  s.job.score.padded_tokens = 4096;
  EXPECT_GT(judged(s).at(2), 7 * own);  // eight times the tokens
}

TEST(Experience, TheNextGenerationDoesNotWaitForACriticInTheBackground) {
  Scenario s = ppo(1);
  s.job.algorithm.epochs = 8;  // on one GPU, where the actor has eight
  auto const steps = [&] {
    return in_child([&] {
      EventLog const log = run(s, 3);
      double critic = 0;  // end of its first update
      double values = 0;  // start of the second step's
      for (PhaseWindow const& w : log.phases) {
        if (w.step == 0 && w.phase == Phase::update_critic) critic = w.end.value;
        if (w.step == 1 && w.phase == Phase::values) values = w.start.value;
      }
      return std::vector<double>{log.steps.back().end.value, critic, values, log.steps[0].end.value};
    });
  };
  std::vector<double> const waited = steps();
  EXPECT_LE(waited.at(1), waited.at(3));
  s.job.framework.critic_in_background = true;
  std::vector<double> const background = steps();
  EXPECT_LT(background.at(0), waited.at(0));
  EXPECT_GT(background.at(1), background.at(3));  // it goes on in the next step
  EXPECT_GE(background.at(2), background.at(1));  // which waits for it before it asks for values
}

}  // namespace
}  // namespace rollcast
