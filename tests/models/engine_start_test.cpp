#include "models/engine_start.hpp"

#include <gtest/gtest.h>

#include "models/pools.hpp"
#include "tests/models/ledger_jobs.hpp"

namespace rollcast {
namespace {

// Llama-3.1-8B, DeepSpeed ZeRO-3 over eight cards of 80e9 B, a colocated vLLM of tp 1; nothing is offloaded.
Job beside_the_trainer(char const* version, double utilization) {
  Job job = test::plain_job(test::model("llama-3.1-8b"), AlgorithmKind::grpo, 8);
  job.cluster.node.gpu.visible_memory = GB(80);
  job.train.zero_stage = 3;
  job.framework.engine_first = false;
  job.rollout.version = version;
  job.rollout.gpu_memory_utilization = utilization;
  return job;
}

bool says(EngineStart const& s, char const* text) { return s.refusal.find(text) != std::string::npos; }

// Weights, gradients, masters and states, which DeepSpeed makes at the start: 16 B x 8,030,261,248 / 8 =
// 16,060,522,496 B; context 558,345,748.48 B, one communicator of the world 688e6 B. Nothing where the engine
// starts first, and no states where PyTorch makes them in the first step.
TEST(EngineStart, HeldByTheTrainer) {
  Job job = beside_the_trainer("", 0.4);
  double const process = 558'345'748.48 + 688e6;
  EXPECT_NEAR(held_at_engine_start(job, process_memory()).value, 16'060'522'496 + process, 1);
  job.train.kind = TrainerKind::fsdp2;  // fp32 shards
  EXPECT_NEAR(held_at_engine_start(job, process_memory()).value, 4 * 8'030'261'248.0 / 8 + process, 1);
  job.framework.engine_first = true;
  EXPECT_DOUBLE_EQ(held_at_engine_start(job, process_memory()).value, 0);
}

// 0.4 x 80e9 = 32e9. Weights 16.06e9, sampler 39 x 1,024 x 128,256 + 67e6 = 5.19e9, 0.15e9 outside: 10.60e9
// are left. Early V1 also counts 0.56e9 of context and 17.31e9 of the trainer: 7.27e9 are missing. Both faces
// of one bad split: a refusal, and an engine that starts.
TEST(EngineStart, NoMemoryForPagesIsARefusal) {
  EngineStart const refuses = engine_start(beside_the_trainer("0.8.5", 0.4));
  EXPECT_LE(refuses.blocks, 0);
  EXPECT_NEAR(refuses.budget.left.value, -7.27e9, 0.01e9);
  EXPECT_TRUE(says(refuses, "no memory for KV pages")) << refuses.refusal;
  EXPECT_TRUE(says(refuses, "held by others")) << refuses.refusal;
  for (char const* version : {"0.6.3", "0.10.0"}) {
    EngineStart const starts = engine_start(beside_the_trainer(version, 0.4));
    EXPECT_EQ(starts.refusal, "") << version;
    EXPECT_NEAR(starts.budget.left.value, 10.60e9, 0.01e9) << version;
  }
}

// 80e9 - 17.31e9 - 0.56e9 = 62.1e9 are free; 0.9 asks for 72e9. V0 asks for as much and does not look.
TEST(EngineStart, LessFreeThanAskedIsARefusal) {
  EngineStart const s = engine_start(beside_the_trainer("0.10.0", 0.9));
  EXPECT_NEAR(s.budget.free_at_start.value, 62.13e9, 0.01e9);
  EXPECT_TRUE(says(s, "are free")) << s.refusal;
  EXPECT_EQ(engine_start(beside_the_trainer("0.7.3", 0.9)).refusal, "");
}

// vLLM wants room for max_model_len; SGLang for what comes, 2,048 tokens.
TEST(EngineStart, OneSequenceMustFit) {
  Job job = beside_the_trainer("0.10.0", 0.4);
  job.rollout.max_model_len = 100'000;  // 10.60e9 B / 131,072 B = 80,900 tokens
  EXPECT_TRUE(says(engine_start(job), "100000 tokens")) << engine_start(job).refusal;
  job.rollout.kind = EngineKind::sglang;
  EXPECT_EQ(engine_start(job).refusal, "");
}

// Staleness of 1 keeps two versions of each of four adapters: eight slots.
TEST(EngineStart, EveryAdapterNeedsSlotsForItsVersions) {
  Job job = test::plain_job(test::model("llama-3.1-8b"), AlgorithmKind::grpo, 8);
  job.schedule.kind = ScheduleKind::one_step_off;
  job.algorithm.adapter = Adapter{.rank = 16, .targets = {"q", "v"}, .sync = AdapterSync::adapter};
  job.algorithm.adapter->count = 4;
  job.rollout.adapter_slots = 7;
  EXPECT_NE(
      engine_start(job).refusal.find(
          "7 slots for adapters, samples of 8 versions are under way (max_staleness + 1 of each of the 4"),
      std::string::npos)
      << engine_start(job).refusal;
  job.rollout.adapter_slots = 8;
  EXPECT_EQ(engine_start(job).refusal, "");
}

// Llama-3-70B at tp 1: 327,680 B a token, 64 sequences of 6,144 tokens are 128.8e9 B. No refusal: the memory
// is not there when it is asked for. Three sequences, 6.04e9 B, are no pages either.
TEST(EngineStart, PreallocatedKvRunsOutOfMemory) {
  Job job = test::plain_job(test::model("llama-3-70b"), AlgorithmKind::grpo, 8);
  job.workload.prompt_tokens.shape = FixedLength{2048};
  job.workload.response_tokens.shape = FixedLength{4096};
  job.rollout.kv = KvCache::preallocated;
  job.rollout.max_num_seqs = 64;
  job.framework.engine_first = true;
  EXPECT_EQ(engine_start(job).refusal, "");
  RankLedger const l = memory_ledger(job).front();
  LedgerLine const* kv = test::find_line(l, Role::rollout, "preallocated KV", MemoryCategory::kv_pages);
  ASSERT_NE(kv, nullptr);
  EXPECT_DOUBLE_EQ(kv->bytes.value, 64 * 6'144 * 327'680.0);
  EXPECT_GT(total(l, Phase::generate), l.capacity);
  EXPECT_EQ(kv_blocks(job), 64 * 6'144 / 16);
}

// OpenRLHF/OpenRLHF#1013: Qwen2.5-7B on nodes of 8 GPUs and 512 GB, 16 engines of tp 1, ZeRO-1. A rank holds
// two processes (1.17 GB each), two copies of 15.23 GB while DeepSpeed builds its flat buffer, and asleep
// 28.72 GB of engine weights: 61.5 GB, 492 GB a node, over Ray's 95 %, 486 GB, by 1 %; without sleep 262 GB.
TEST(EngineStart, SleepingCopiesFillTheHostAtLoad) {
  Job job = test::plain_job(test::model("qwen2.5-7b"), AlgorithmKind::grpo, 16);
  job.train.zero_stage = 1;
  job.framework.load_copies = 2;
  Bytes const limit = 0.95 * GB(512);
  EXPECT_NEAR(8 * host_at_load(job).value, 492e9, 1e9);
  EXPECT_GT(8 * host_at_load(job), limit);
  job.rollout.sleep_level = 0;
  EXPECT_NEAR(8 * host_at_load(job).value, 262e9, 1e9);
  job.train.zero_stage = 3;  // loaded in parts
  EXPECT_NEAR(8 * host_at_load(job).value, 8 * 2.34e9, 1e8);
}

// Of a critic with GPUs of its own: its process, and nothing of the engines that lie beside the actor.
TEST(EngineStart, OnlyTheEnginesPoolLoadsThem) {
  Job job = test::plain_job(test::model("llama-3.1-8b"), AlgorithmKind::ppo, 8);
  job.pools = {{"actor", job.cluster, false}, {"critic", job.cluster, false}};
  job.role_pools.critic = job.role_pools.reward = 1;
  EXPECT_DOUBLE_EQ(host_at_load(on_pool(job, 1)).value, process_memory().host_process.value.value);
  EXPECT_GT(host_at_load(on_pool(job, 0)), host_at_load(on_pool(job, 1)));
}

}  // namespace
}  // namespace rollcast
