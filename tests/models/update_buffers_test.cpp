#include "models/update_buffers.hpp"

#include <gtest/gtest.h>

#include "models/update_moment.hpp"
#include "tests/models/ledger_jobs.hpp"

namespace rollcast {
namespace {

constexpr ModelRole kActor{Role::actor, true, false};

double held(std::vector<UpdateBuffer> const& buffers, std::string_view name) {
  for (UpdateBuffer const& b : buffers) {
    if (b.name == name) return b.bytes.value;
  }
  return 0;
}

double in_step(Job const& job, std::string_view name) { return held(step_buffers(job, kActor, 0), name); }
double in_passes(Job const& job, std::string_view name) { return held(pass_buffers(job, kActor, 0), name); }

// ZeRO-2 over 8 ranks, 8,030,261,248 / 8 = 1,003,782,656 parameters each. A step flattens their gradients (2
// B) and casts them (4 B). 512 samples of 8 ranks are 64 micro-batches, so a second one's gradients (2 B)
// stand beside the sum in the passes. Under ZeRO-3 a step takes a sub-group of 1e9 at a time.
TEST(UpdateBuffers, DeepspeedsStepHoldsGradientsAgain) {
  Job job = test::plain_job(test::model("llama-3.1-8b"), AlgorithmKind::sft, 8);
  job.train.zero_stage = 2;
  EXPECT_DOUBLE_EQ(in_step(job, "flattened gradients"), 2 * 1'003'782'656.0);
  EXPECT_DOUBLE_EQ(in_step(job, "fp32 gradients"), 4 * 1'003'782'656.0);
  EXPECT_DOUBLE_EQ(in_passes(job, "gradients of one micro-batch"), 2 * 1'003'782'656.0);
  job.train.gradients = DType::fp32;
  EXPECT_DOUBLE_EQ(in_step(job, "fp32 gradients"), 0);
  EXPECT_DOUBLE_EQ(in_step(job, "flattened gradients"), 4 * 1'003'782'656.0);
  job.train.gradients = DType::bf16;
  job.train.zero_stage = 3;
  EXPECT_DOUBLE_EQ(in_step(job, "fp32 gradients"), 4e9);
  EXPECT_DOUBLE_EQ(in_passes(job, "gradients of one micro-batch"), 0);
  job.train.offload.optimizer = true;
  EXPECT_DOUBLE_EQ(in_step(job, "fp32 gradients"), 0);
}

// Without a master copy 12 B of states on one GPU; a foreach step holds 4 B more, less than the activations
// of 16,384 tokens through 16 layers and their logits: the peak is the passes', until there are few tokens.
// The ledger's total is then 2 + 2 + 8 B and 4 in the step.
TEST(UpdateBuffers, StepAndPassesExcludeEachOther) {
  Job job = test::plain_job(test::model("llama-3.2-1b"), AlgorithmKind::sft, 1);
  job.train.kind = TrainerKind::ddp;
  job.train.master_weights = false;
  job.train.foreach_optimizer = true;
  auto const moment = [&](double tokens) {
    return largest_moment(job, kActor, 0, tokens, gradient_counts(job, kActor, 0)).moment;
  };
  EXPECT_NE(moment(16'384), Moment::step);
  EXPECT_EQ(moment(16), Moment::step);
  job.workload.prompt_tokens.shape = FixedLength{8};
  job.workload.response_tokens.shape = FixedLength{8};
  RankLedger const l = memory_ledger(job).front();
  double process = 0;
  for (LedgerLine const& line : l.lines) {
    if (line.role == Role::process && !line.host) process += line.bytes.value;
  }
  EXPECT_DOUBLE_EQ(total(l, Phase::update_actor).value - process, 16 * 1'235'814'400.0);
}

// An fp32 adapter on a bf16 base: 4 + 4 + 8 B, no master copy. The rest of a quantized base in fp32: 4 B.
// Plain PyTorch computes in bf16 by autocast: the adapter and the head are cast, 2 B each.
TEST(UpdateBuffers, AdapterAndBaseMayHaveTypesOfTheirOwn) {
  Job job = test::plain_job(test::model("llama-3-70b"), AlgorithmKind::sft, 1);
  job.algorithm.adapter = Adapter{};
  job.algorithm.adapter->kind = AdapterKind::qlora;
  job.algorithm.adapter->targets = {"q", "v"};
  job.algorithm.adapter->weights = DType::fp32;
  job.algorithm.adapter->unquantized = DType::fp32;
  job.train.kind = TrainerKind::ddp;
  RankLedger const l = memory_ledger(job).front();
  auto const line_of = [&](std::string_view name, MemoryCategory c) {
    LedgerLine const* line = test::find_line(l, Role::actor, name, c);
    return line == nullptr ? 0 : line->bytes.value;
  };
  EXPECT_DOUBLE_EQ(line_of("adapter", MemoryCategory::weights), 4 * 32'768'000.0);
  EXPECT_DOUBLE_EQ(line_of("adapter", MemoryCategory::gradients), 4 * 32'768'000.0);
  EXPECT_DOUBLE_EQ(line_of("adapter", MemoryCategory::master_weights), 0);
  EXPECT_DOUBLE_EQ(line_of("base", MemoryCategory::weights), 4 * (2.0 * 128'256 * 8192 + 161.0 * 8192));
  EXPECT_DOUBLE_EQ(in_passes(job, "weights cast by autocast"), 2 * (32'768'000.0 + 128'256.0 * 8192));
}

// GPTQ keeps each dequantized matrix for the gradient of its input: without recomputation the whole base, 2 B
// for each of its 6,979,321,856 quantized weights; a matrix of 4,096 x 14,336 is unpacked in 5 B a weight.
TEST(UpdateBuffers, GptqKeepsWhatItDequantizes) {
  Job job = test::plain_job(test::model("llama-3.1-8b"), AlgorithmKind::sft, 1);
  job.algorithm.adapter = Adapter{};
  job.algorithm.adapter->kind = AdapterKind::qlora;
  job.algorithm.adapter->targets = {"q", "v"};
  job.algorithm.adapter->quantization = Quantization::gptq;
  EXPECT_DOUBLE_EQ(in_passes(job, "dequantized weights"), 2 * 6'979'321'856.0);
  EXPECT_DOUBLE_EQ(in_passes(job, "unpacked weight"), 5 * 4096.0 * 14336);
  job.algorithm.adapter->quantization = Quantization::torchao;
  EXPECT_DOUBLE_EQ(in_passes(job, "dequantized weights"), 0);
  EXPECT_DOUBLE_EQ(in_passes(job, "dequantized weight"), 2 * 4096.0 * 14336);
}

// Embedding and head of Llama-3.1-70B apart (torchtune's custom_sharded_layers): 1,050,673,152 parameters
// each are gathered in place of two layers of 855,654,400, not with them.
TEST(UpdateBuffers, EmbeddingAndHeadMayBeModulesOfTheirOwn) {
  Job job = test::plain_job(test::model("llama-3.1-70b"), AlgorithmKind::sft, 8);
  job.train.kind = TrainerKind::fsdp2;
  job.train.zero_stage = 3;
  job.train.shard_embedding = true;
  auto const buffers = pass_buffers(job, {Role::actor, true, false}, 0);
  ASSERT_EQ(buffers.size(), 2U);
  EXPECT_DOUBLE_EQ(buffers[0].bytes.value, 2 * 855'654'400.0 * 2);
  EXPECT_DOUBLE_EQ(buffers[1].bytes.value, 1'050'673'152.0 * (2 + 2));
}

}  // namespace
}  // namespace rollcast
