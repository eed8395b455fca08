#include "models/engine_memory.hpp"

#include <gtest/gtest.h>

#include "models/engine_start.hpp"
#include "tests/models/ledger_jobs.hpp"

namespace rollcast {
namespace {

EngineOptions engine(int tp, int max_num_seqs = 1024) {
  EngineOptions e;
  e.parallel.tp = tp;
  e.max_num_seqs = max_num_seqs;
  return e;
}

// Left for KV of Llama-3-8B on 80e9 B beside a process that holds some.
Bytes left(EngineOptions const& e, Bytes held) {
  return kv_budget(test::model("llama-3-8b"), e, {GB(80), held}, process_memory()).left;
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

// The latent of Moonlight-16B-A3B: 27 x (512 + 64) x 2 B. Qwen2.5-7B: 2 x 28 layers x 4 heads x 128 x 2 B.
TEST(EngineMemory, KvOfALatentAndOfGroupedQueries) {
  EXPECT_DOUBLE_EQ(kv_bytes_per_token(test::model("moonlight-16b-a3b"), engine(1)).value, 31'104);
  EXPECT_DOUBLE_EQ(kv_bytes_per_token(test::model("qwen2.5-7b"), engine(1)).value, 57'344);
}

// 0.9 x 80e9 = 72e9; weights 16,060,522,496; sampler 8,192 x 8,192 + 39 x 256 x 128,256 = 1,347,616,768 B;
// 0.14 GiB = 150,323,855.36: 54,441,536,880.64 B are left, in pages of 16 x 131,072 B: 25,959.
TEST(EngineMemory, BudgetOfVllm) {
  EngineOptions e = engine(1, 256);
  e.version = "0.10.0";
  EXPECT_NEAR(left(e, GB(0)).value, 54'441'536'880.64, 1);
  Job job = test::plain_job(test::model("llama-3-8b"), AlgorithmKind::grpo, 8);
  job.cluster.node.gpu.visible_memory = GB(80);
  job.rollout = e;
  EXPECT_EQ(kv_blocks(job), 25'959);
}

// The same sum beside a process that holds 10e9: V0 and later V1 do not see it; early V1 counts it and the
// engine's context (0.52 GiB = 558,345,748.48 B); from 0.21 on CUDA graphs count (0.45 GiB = 483,183,820.8
// B).
TEST(EngineMemory, BudgetByRelease) {
  double const own = 54'441'536'880.64;
  for (auto const& [version, expected] :
       {std::pair("0.5.4", own), std::pair("0.6.3", own), std::pair("0.6.4", own - 10e9 - 558'345'748.48),
        std::pair("0.7.3", own), std::pair("0.8.5", own - 10e9 - 558'345'748.48), std::pair("0.9.1", own),
        std::pair("0.20.0", own), std::pair("0.21.0", own - 483'183'820.8),
        std::pair("", own - 483'183'820.8)}) {
    EngineOptions e = engine(1, 256);
    e.version = version;
    EXPECT_NEAR(left(e, GB(10)).value, expected, 1) << version;
  }
}

TEST(EngineMemory, GivenKvBytesOverrideTheUtilization) {
  EngineOptions e = engine(1, 256);
  e.kv_cache_bytes = GiB(20);
  for (double utilization : {0.1, 0.9}) {
    e.gpu_memory_utilization = utilization;
    EXPECT_DOUBLE_EQ(left(e, GB(10)).value, GiB(20).value);
  }
}

// Moonlight-16B-A3B, fp8, utilization 0.5 of 79.18 GiB (NVIDIA-NeMo/RL#3280; limits of vLLM's LLM class on
// this card, 1,024 sequences and 16,384 tokens). Matrices of the layers: 27 x 13,762,560 (attention)
// + 69,206,016 (dense MLP) + 26 x 571,080,704 (experts, router, shared) = 15,288,893,440 B = 14.239 GiB; with
// embedding and lm_head (1,342,177,280 B) and norms 15.489 GiB. Sampler 39 x 1,024 x 163,840 + 67,108,864 B =
// 6.156 GiB.
//   0.20.0  39.59 - 15.489 - 6.156 - 0.14                 = 17.80 GiB  (real 19.83)
//   0.25.1  the same - 0.45 of graphs + 14.239 replaced   = 31.59 GiB  (real 34.29)
// so 10 and 8 % too little, most of it the sampler's peak; the growth is 13.79 of 14.46 GiB.
TEST(EngineMemory, AReleaseThatEnlargesKv) {
  EngineOptions e = engine(1);
  e.weights = DType::fp8;
  e.gpu_memory_utilization = 0.5;
  e.max_num_batched_tokens = 16'384;
  auto const gib = [&](char const* version, bool sleeps) {
    e.version = version;
    EngineSite const site{GiB(79.18), Bytes(0), sleeps};
    return kv_budget(test::model("moonlight-16b-a3b"), e, site, process_memory()).left / GiB(1);
  };
  EXPECT_NEAR(gib("0.20.0", true), 17.80, 0.01);
  EXPECT_NEAR(gib("0.25.1", true), 31.59, 0.01);
  EXPECT_NEAR(gib("0.25.1", false), 17.35, 0.01);  // without a sleep pool only the graphs tell
}

// mem_fraction_static is of what is free at the start, 80e9 - 0.52 GiB = 79,441,654,251.52 B, and covers
// weights and KV alone; 20e9 held by others are not free.
TEST(EngineMemory, BudgetOfSglang) {
  EngineOptions e = engine(1, 256);
  e.kind = EngineKind::sglang;
  EXPECT_NEAR(left(e, GB(0)).value, 0.9 * 79'441'654'251.52 - 16'060'522'496, 1);
  EXPECT_NEAR(left(e, GB(20)).value, 0.9 * 59'441'654'251.52 - 16'060'522'496, 1);
}

// Qwen2.5-7B in bf16, in MiB after rounding to 2 MiB, and to a power of two: fused q, k, v 32, 32; output 26,
// 32; fused gate and up 260, 512; down 130, 256: 832 a layer, 28 layers; embedding and lm_head 1,040, 2,048
// each; biases and norms 2: 27,394 MiB. SGLang's pool pins what there is.
TEST(EngineMemory, SleepingCopiesAreRoundedUp) {
  EngineOptions e = engine(1);
  EXPECT_DOUBLE_EQ(sleeping_copy(test::model("qwen2.5-7b"), e).value, MiB(27'394).value);
  e.kind = EngineKind::sglang;
  EXPECT_EQ(sleeping_copy(test::model("qwen2.5-7b"), e).value,
            engine_weights(test::model("qwen2.5-7b"), e).value);
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
