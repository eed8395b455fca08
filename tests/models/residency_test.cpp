#include "models/residency.hpp"

#include <gtest/gtest.h>

#include "tests/models/ledger_jobs.hpp"

namespace rollcast {
namespace {

using P = Phase;
using Phases = std::vector<Phase>;

constexpr ModelRole actor{Role::actor, true, false};

Job with_order(Phases const& order) {
  Job job = test::colocated_grpo();
  job.framework.order = order;
  return job;
}

// NeMo-RL scores while the engine is awake and computes advantages before the trainer returns.
TEST(Residency, FollowsTheOrderOfTheStep) {
  Job const job = with_order({P::generate, P::score, P::sleep, P::advantage, P::old_logprob, P::reference,
                              P::update_actor, P::weight_sync, P::wake});
  EXPECT_EQ(engine_weight_phases(job), (Phases{P::generate, P::score, P::sleep, P::weight_sync, P::wake}));
  EXPECT_EQ(engine_kv_phases(job), (Phases{P::generate, P::score, P::sleep, P::wake}));
  EXPECT_EQ(weights_residency(job, actor).gpu, (Phases{P::old_logprob, P::update_actor, P::weight_sync}));
  EXPECT_EQ(weights_residency(job, actor).host,
            (Phases{P::generate, P::score, P::sleep, P::advantage, P::reference, P::wake}));
}

// A framework that wakes the weights before it syncs them: KV comes after the sync.
TEST(Residency, KvComesAfterTheSync) {
  Job const job =
      with_order({P::generate, P::sleep, P::old_logprob, P::update_actor, P::wake, P::weight_sync});
  EXPECT_EQ(engine_weight_phases(job), (Phases{P::generate, P::sleep, P::wake, P::weight_sync}));
  EXPECT_EQ(engine_kv_phases(job), (Phases{P::generate, P::sleep}));
}

// Without tags all of the engine wakes for the sync.
TEST(Residency, WithoutTagsKvIsThereInTheSync) {
  Job job = with_order({P::generate, P::sleep, P::old_logprob, P::update_actor, P::weight_sync, P::wake});
  EXPECT_EQ(engine_kv_phases(job), (Phases{P::generate, P::sleep, P::wake}));
  job.framework.wake_by_tags = false;
  EXPECT_EQ(engine_kv_phases(job), (Phases{P::generate, P::sleep, P::weight_sync, P::wake}));
}

TEST(Residency, StepMayBeginWithTheSync) {
  Job const job =
      with_order({P::weight_sync, P::wake, P::generate, P::sleep, P::old_logprob, P::update_actor});
  EXPECT_EQ(engine_kv_phases(job), (Phases{P::wake, P::generate, P::sleep}));
  EXPECT_EQ(weights_residency(job, actor).host, (Phases{P::wake, P::generate, P::sleep}));
}

TEST(Residency, AnEngineThatNeverSleepsIsAlwaysThere) {
  Job job = with_order({P::generate, P::old_logprob, P::update_actor, P::weight_sync});
  EXPECT_EQ(engine_weight_phases(job), job.framework.order);
  EXPECT_EQ(engine_kv_phases(job), job.framework.order);
  job = with_order({P::generate, P::sleep, P::old_logprob, P::update_actor, P::weight_sync});
  job.rollout.sleep_level = 0;
  EXPECT_EQ(engine_kv_phases(job), job.framework.order);
}

TEST(Residency, EveryPartIsSomewhereInEveryPhase) {
  for (bool on : {false, true}) {
    Job job = test::colocated_grpo();
    job.framework.parameters_offload = job.framework.optimizer_offload = job.framework.reference_on_host = on;
    for (ModelRole const& r : model_roles(job.algorithm)) {
      Residency const w = weights_residency(job, r);
      Residency const o = optimizer_residency(job, r);
      for (P p : step_phases(job)) {
        EXPECT_TRUE(contains(w.gpu, p) || contains(w.host, p)) << name_of(r.role) << ' ' << name_of(p);
        EXPECT_NE(contains(o.gpu, p), contains(o.host, p)) << name_of(r.role) << ' ' << name_of(p);
      }
    }
  }
}

// Megatron's gradient buffer stays, unless the framework frees it between updates; others free gradients
// anyway.
TEST(Residency, Gradients) {
  Job job = test::colocated_grpo();
  EXPECT_EQ(gradients_residency(job, actor).gpu, Phases{P::update_actor});
  job.framework.optimizer_offload = false;
  EXPECT_EQ(gradients_residency(job, actor).gpu, step_phases(job));
  job.train.kind = TrainerKind::deepspeed;
  EXPECT_EQ(gradients_residency(job, actor).gpu, Phases{P::update_actor});
  job.train.offload.gradients = true;
  EXPECT_EQ(gradients_residency(job, actor).host, Phases{P::update_actor});
}

// verl's manual offload without ZeRO-3: parameters come to the GPU for the phases that use them.
TEST(Residency, OffloadedParameters) {
  Job job = test::plain_job(test::model("llama-3.1-8b"), AlgorithmKind::ppo, 8);
  job.train.offload.parameters = true;
  EXPECT_EQ(weights_residency(job, {Role::critic, true, false}).gpu, (Phases{P::values, P::update_critic}));
  EXPECT_EQ(weights_residency(job, {Role::reward, false, false}).gpu, Phases{P::score});
  EXPECT_EQ(weights_residency(job, {Role::reference, false, false}).gpu, Phases{P::reference});
  job.train.zero_stage = 3;
  EXPECT_TRUE(weights_residency(job, actor).gpu.empty());
  EXPECT_EQ(weights_residency(job, actor).host, step_phases(job));
}

}  // namespace
}  // namespace rollcast
