#include "models/update_moment.hpp"

#include <gtest/gtest.h>

#include "models/activations.hpp"
#include "tests/models/ledger_jobs.hpp"

namespace rollcast {
namespace {

constexpr double kAll = 8'030'261'248;      // Llama-3.1-8B
constexpr double kHead = 128'256.0 * 4096;  // its lm_head
constexpr double kTokens = 2048;

// Llama-3.1-8B in a plain loop on one GPU, all of it in bf16: `micro_batches` of one sequence a step, full
// recomputation, the loss by chunks.
Job loop(int micro_batches) {
  Job job = test::plain_job(test::model("llama-3.1-8b"), AlgorithmKind::sft, 1);
  job.algorithm.train_batch = micro_batches;
  job.train.kind = TrainerKind::ddp;
  job.train.master_weights = false;
  job.train.recompute = Recompute::full;
  job.train.cross_entropy = CrossEntropy::chunked;
  return job;
}

UpdateMoment moment_of(Job const& job) {
  ModelRole const actor{Role::actor, true, false};
  return largest_moment(job, actor, 0, kTokens, gradient_counts(job, actor, 0));
}

// One micro-batch: 16 GB of gradients are only there when one layer's 0.4 GB are left of the activations.
TEST(UpdateMoment, GradientsComeAsTheLayersGoBack) {
  EXPECT_TRUE(gradients_come_fresh(loop(1)));
  UpdateMoment const m = moment_of(loop(1));
  EXPECT_EQ(m.moment, Moment::first_layer);
  EXPECT_DOUBLE_EQ(m.gradient_parameters, kAll);
  EXPECT_DOUBLE_EQ(m.kept.value, kTokens * 8192);
  EXPECT_DOUBLE_EQ(m.recomputed.value, kTokens * 131'200);
  EXPECT_DOUBLE_EQ(m.activation_gradients.value, kTokens * 65'536);
  EXPECT_DOUBLE_EQ(m.weight_gradient.value, 0);
}

// Two: all gradients are there from the first on. At the loss 32 layer inputs and 16,384 B a token of the
// head, 0.57 GB, logits 0.53 GB and a new gradient of lm_head 1.05 GB; a layer's backward 0.54 GB, 0.40 GB
// and one matrix, 0.12 GB.
TEST(UpdateMoment, AccumulatedGradientsAreAlwaysThere) {
  EXPECT_FALSE(gradients_come_fresh(loop(2)));
  UpdateMoment const m = moment_of(loop(2));
  EXPECT_EQ(m.moment, Moment::loss);
  EXPECT_TRUE(m.logits);
  EXPECT_DOUBLE_EQ(m.gradient_parameters, kAll);
  EXPECT_DOUBLE_EQ(m.kept.value, kTokens * 32 * 8192);
  EXPECT_DOUBLE_EQ(m.head_inputs.value, kTokens * 16'384);
  EXPECT_DOUBLE_EQ(m.weight_gradient.value, 2 * kHead);
  // Half the vocabulary, sixteen times the tokens, one kernel per operation: at the loss 262,144 + 16,384 +
  // 128,256 B a token and 0.53 GB; in a layer 262,144 + 200,832 + 65,536 and 0.12 GB.
  Job job = loop(2);
  job.model.vocab /= 2;
  job.train.kernels = KernelStack::eager;
  ModelRole const actor{Role::actor, true, false};
  UpdateMoment const longer = largest_moment(job, actor, 0, 16 * kTokens, gradient_counts(job, actor, 0));
  EXPECT_EQ(longer.moment, Moment::last_layer);
  EXPECT_FALSE(longer.logits);
  EXPECT_DOUBLE_EQ(longer.weight_gradient.value, 2 * 4096 * 14'336.0);
}

// No gradients but lm_head's (1.05 GB, and as much again that is added chunk by chunk).
TEST(UpdateMoment, OptimizerInBackward) {
  Job job = loop(1);
  job.train.optimizer_in_backward = true;
  UpdateMoment const m = moment_of(job);
  EXPECT_EQ(m.moment, Moment::loss);
  EXPECT_DOUBLE_EQ(m.gradient_parameters, kHead);
  EXPECT_DOUBLE_EQ(m.weight_gradient.value, 2 * kHead);
}

TEST(UpdateMoment, BuffersOfTheTrainerHoldAllGradients) {
  Job job = loop(1);
  for (TrainerKind kind : {TrainerKind::megatron, TrainerKind::deepspeed}) {
    job.train.kind = kind;
    EXPECT_FALSE(gradients_come_fresh(job));
    EXPECT_DOUBLE_EQ(moment_of(job).gradient_parameters, kAll);
    EXPECT_DOUBLE_EQ(moment_of(job).weight_gradient.value, 0);
  }
}

// FSDP2 over eight GPUs: an eighth of all; adapters' where there are some.
TEST(UpdateMoment, CountsAfterTheCut) {
  Job job = loop(8);
  job.cluster.node.gpus = 8;
  job.train.kind = TrainerKind::fsdp2;
  ModelRole const actor{Role::actor, true, false};
  EXPECT_DOUBLE_EQ(gradient_counts(job, actor, 0).all, kAll / 8);
  EXPECT_DOUBLE_EQ(gradient_counts(job, actor, 0).head, kHead / 8);
  EXPECT_DOUBLE_EQ(gradient_counts(job, actor, 0).one, 218'112'000.0 / 8);
  job.algorithm.adapter = Adapter{};
  job.algorithm.adapter->targets = {"q", "v"};
  // Rank 16: 32 layers x 16 x (4096 + 4096 + 4096 + 1024).
  EXPECT_DOUBLE_EQ(gradient_counts(job, actor, 0).all, 32 * 16 * 13'312.0 / 8);
}

}  // namespace
}  // namespace rollcast
