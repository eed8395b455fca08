#include "models/engine_memory.hpp"

#include <gtest/gtest.h>

#include "tests/models/ledger_jobs.hpp"

namespace rollcast {
namespace {

EngineOptions engine(int tp, int max_num_seqs = 1024) {
  EngineOptions e;
  e.parallel.tp = tp;
  e.max_num_seqs = max_num_seqs;
  return e;
}

// 8,820,367,360 parameters per rank (sharding_test) x 2 B = 17.64 GB for 70.55e9 parameters at tp 8.
TEST(EngineMemory, WeightsOf70BAtTp8) {
  EXPECT_DOUBLE_EQ(engine_weights(test::model("llama-3-70b"), engine(8)).value, 17'640'734'720);
}

// fp8: the matrix products of Llama-3.1-8B's layers in one byte: 8,030,261,248 - 2 x 128,256 x 4,096
// (embedding, lm_head) - 65 x 4,096 (norms) = 6,979,321,856; the rest, 1,050,939,392, in two.
TEST(EngineMemory, Fp8LeavesEmbeddingsAndNorms) {
  EngineOptions e = engine(1);
  e.weights = DType::fp8;
  EXPECT_DOUBLE_EQ(engine_weights(test::model("llama-3.1-8b"), e).value,
                   6'979'321'856.0 + 2 * 1'050'939'392.0);
}

// 2 x 80 layers x 8 heads x 128 x 2 B = 327,680 B; 32 sequences of 4,096 tokens: 40 GiB.
TEST(EngineMemory, KvOf70B) {
  EngineOptions e = engine(1);
  e.kv_cache = DType::fp16;
  Bytes const token = kv_bytes_per_token(test::model("llama-3-70b"), e);
  EXPECT_DOUBLE_EQ(token.value, 327'680);
  EXPECT_DOUBLE_EQ((32.0 * 4096 * token).value, GiB(40).value);
}

// At tp 8 one of the eight kv heads is on each rank: 40,960 B; at tp 16 still one, copied.
TEST(EngineMemory, KvHeadsAreCopiedBeyondTheirNumber) {
  Architecture const a = test::model("llama-3-70b");
  EXPECT_DOUBLE_EQ(kv_bytes_per_token(a, engine(8)).value, 40'960);
  EXPECT_DOUBLE_EQ(kv_bytes_per_token(a, engine(16)).value, 40'960);
}

// The latent of DeepSeek-V3, 61 x (512 + 64) x 2 B = 70,272 B, is on every rank whole.
TEST(EngineMemory, LatentAttentionIsNotCut) {
  EXPECT_DOUBLE_EQ(kv_bytes_per_token(test::model("deepseek-v3"), engine(1)).value, 70'272);
  EXPECT_DOUBLE_EQ(kv_bytes_per_token(test::model("deepseek-v3"), engine(8)).value, 70'272);
}

// vllm-project/vllm#10511 logs for Llama-3-8B on an H100 of 79.22 GiB, 8,192 tokens and 256 sequences:
// weights 14.96 GiB, activation peak 1.26 GiB, the same at tp 2. (The activation figure gave the sampler's
// constant.)
TEST(EngineMemory, LoggedProfileOfLlama3) {
  Architecture const a = test::model("llama-3-8b");
  EXPECT_NEAR(engine_weights(a, engine(1)) / GiB(1), 14.96, 0.005);
  EXPECT_NEAR(engine_activations(a, engine(1, 256), process_memory()) / GiB(1), 1.26, 0.005);
  EXPECT_NEAR(engine_activations(a, engine(2, 256), process_memory()) / GiB(1), 1.26, 0.005);
}

// With few sequences the forward is larger: 8,192 x 2 x (2 x 4,096 + 3 x 14,336) = 838,860,800 B.
TEST(EngineMemory, ForwardOfManyTokens) {
  EXPECT_DOUBLE_EQ(engine_activations(test::model("llama-3-8b"), engine(1, 16), process_memory()).value,
                   838'860'800);
}

// 0.9 x 80e9 = 72e9; weights 16,060,522,496; sampler 8,192 x 8,192 + 39 x 256 x 128,256 = 1,347,616,768 B;
// 0.14 GiB = 150,323,855.36: 54,441,536,880.64 B are left, in pages of 16 x 131,072 B: 25,959.
TEST(EngineMemory, BudgetOfVllm) {
  Architecture const a = test::model("llama-3-8b");
  Bytes const budget = kv_budget(a, engine(1, 256), GB(80), process_memory());
  EXPECT_NEAR(budget.value, 54'441'536'880.64, 1);
  Job job = test::plain_job(a, AlgorithmKind::grpo, 8);
  job.cluster.node.gpu.visible_memory = GB(80);
  job.rollout = engine(1, 256);
  EXPECT_EQ(kv_blocks(job), 25'959);
}

// mem_fraction_static covers weights and KV alone: 72e9 - 16,060,522,496 - 0.52 GiB (558,345,748.48).
TEST(EngineMemory, BudgetOfSglang) {
  EngineOptions e = engine(1, 256);
  e.kind = EngineKind::sglang;
  EXPECT_NEAR(kv_budget(test::model("llama-3-8b"), e, GB(80), process_memory()).value, 55'381'131'755.52, 1);
}

TEST(EngineMemory, NothingLeftIsNegative) {
  Job job = test::plain_job(test::model("llama-3-70b"), AlgorithmKind::grpo, 8);
  EXPECT_LE(kv_blocks(job), 0);
}

TEST(EngineMemory, MoreTensorParallelismLeavesMorePages) {
  for (char const* name : {"llama-3.1-8b", "qwen3-30b-a3b", "qwen2.5-32b"}) {
    Job job = test::plain_job(test::model(name), AlgorithmKind::grpo, 8);
    job.rollout.parallel.tp = 2;
    std::int64_t const two = kv_blocks(job);
    job.rollout.parallel.tp = 4;
    EXPECT_GE(kv_blocks(job), two) << name;
  }
}

TEST(ProcessMemory, EveryNumberHasASource) {
  for (auto const& [name, cited] : cited_bytes(process_memory())) {
    EXPECT_GT(cited.value.value, 0) << name;
    EXPECT_GT(cited.source.size(), 10U) << name;
  }
  EXPECT_FALSE(process_memory().refit_share_source.empty());
}

// 16 GPUs, tp 4, ep 2, etp 1: world, tp, ep (a pair), dp 4 and the experts' data-parallel group of 8.
TEST(ProcessMemory, CommunicatorsOfExperts) {
  Job job = test::plain_job(test::model("qwen3-30b-a3b"), AlgorithmKind::sft, 16);
  job.train.parallel = {.tp = 4, .ep = 2, .etp = 1};
  EXPECT_DOUBLE_EQ(trainer_communicators(job, process_memory()).value, 4 * 688e6 + 544e6);
}

// 16 GPUs, pp 2: world of 16, pp of 2, data-parallel group of 8: 688 + 544 + 688 MB. One GPU: none. FSDP over
// all: the data-parallel group is the world.
TEST(ProcessMemory, TrainerCommunicators) {
  Job job = test::colocated_grpo();
  EXPECT_DOUBLE_EQ(trainer_communicators(job, process_memory()).value, 1920e6);
  EXPECT_DOUBLE_EQ(
      trainer_communicators(test::plain_job(job.model, AlgorithmKind::sft, 1), process_memory()).value, 0);
  EXPECT_DOUBLE_EQ(
      trainer_communicators(test::plain_job(job.model, AlgorithmKind::sft, 8), process_memory()).value,
      688e6);
}

}  // namespace
}  // namespace rollcast
