#include "models/adapter_memory.hpp"

#include <gtest/gtest.h>

#include "models/engine_start.hpp"
#include "models/ledger.hpp"
#include "models/prices.hpp"
#include "tests/models/ledger_jobs.hpp"
#include "tests/models/serving_jobs.hpp"

namespace rollcast {
namespace {

// q and v are both [8192, 8192].
Architecture square_70b() {
  Architecture a = test::model("llama-3-70b");
  a.kv_heads = a.heads;
  return a;
}

EngineOptions engine(int tp, int pp = 1) {
  EngineOptions e;
  e.parallel.tp = tp;
  e.parallel.pp = pp;
  return e;
}

AdapterVariant const kQAndV{16, {"q", "v"}};
constexpr double k70b = 80.0 * 2 * 16 * 16'384 * 2;  // B: layers x targets x rank x (in + out) x bf16

// 83,886,080 B; a pool of 4e9 B holds 47.68.
TEST(AdapterMemory, A70BsAdapter) {
  EXPECT_DOUBLE_EQ(k70b, 83'886'080);
  EXPECT_DOUBLE_EQ(adapter_bytes(square_70b(), kQAndV).value, k70b);
  EXPECT_DOUBLE_EQ(adapter_rank_bytes(square_70b(), engine(1), kQAndV).value, k70b);
  EXPECT_EQ(adapter_factors(square_70b(), engine(1), kQAndV), 320);
  ServedAdapters adapters;
  adapters.count = 500;
  adapters.pool_bytes = GB(4);
  AdapterSlots const slots = adapter_slots(square_70b(), engine(1), adapters);
  EXPECT_EQ(slots.count, 47);
  EXPECT_DOUBLE_EQ(slots.bytes().value, 47 * k70b);
  EXPECT_DOUBLE_EQ(slots.wasted.value, 0);
}

// Llama-3-70B at tp 8: q [8192, 8192] keeps A [16, 8192] and 1,024 rows of B, v [1024, 8192] the rows of one
// of its 8 heads, 128; o [8192, 8192] keeps 1,024 columns of A and B whole. At tp 16 q has 512 rows, v still
// 128.
TEST(AdapterMemory, TensorParallelCutsOneFactor) {
  Architecture const a = test::model("llama-3-70b");
  EXPECT_DOUBLE_EQ(adapter_rank_bytes(a, engine(8), kQAndV).value,
                   80.0 * 16 * ((8192 + 1024) + (8192 + 128)) * 2);
  EXPECT_DOUBLE_EQ(adapter_rank_bytes(a, engine(16), kQAndV).value,
                   80.0 * 16 * ((8192 + 512) + (8192 + 128)) * 2);
  EXPECT_DOUBLE_EQ(adapter_rank_bytes(a, engine(8), {16, {"o"}}).value, 80.0 * 16 * (1024 + 8192) * 2);
}

// Fully sharded at tp 8: A of q and v has 2 of its 16 rows, B of o 1,024 of its 8,192.
TEST(AdapterMemory, FullyShardedCutsBoth) {
  Architecture const a = test::model("llama-3-70b");
  EXPECT_DOUBLE_EQ(adapter_rank_bytes(a, engine(8), kQAndV, true).value,
                   80.0 * (2 * (2 * 8192) + 16 * (1024 + 128)) * 2);
  EXPECT_DOUBLE_EQ(adapter_rank_bytes(a, engine(8), {16, {"o"}}, true).value, 80.0 * 16 * (1024 + 1024) * 2);
}

// 80 layers on 3 stages: the largest has 27.
TEST(AdapterMemory, TheLargestStageCounts) {
  EXPECT_DOUBLE_EQ(adapter_rank_bytes(square_70b(), engine(1, 3), kQAndV).value, k70b / 80 * 27);
  EXPECT_EQ(adapter_factors(square_70b(), engine(1, 3), kQAndV), 27 * 4);
}

// Qwen3-30B-A3B: 48 layers of 128 experts, gate_proj [768, 2048]. At tp 2 each has 384 rows of B and A whole;
// at ep 2 a rank has 64 of them whole.
TEST(AdapterMemory, ExpertsAreCutOrWhole) {
  Architecture const a = test::model("qwen3-30b-a3b");
  AdapterVariant const gate{16, {"gate"}};
  EXPECT_DOUBLE_EQ(adapter_rank_bytes(a, engine(2), gate).value, 48.0 * 128 * 16 * (384 + 2048) * 2);
  EngineOptions e = engine(2);
  e.parallel.ep = 2;
  EXPECT_DOUBLE_EQ(adapter_rank_bytes(a, e, gate).value, 48.0 * 64 * 16 * (768 + 2048) * 2);
  EXPECT_EQ(adapter_factors(a, e, gate), 48 * 64 * 2);
}

// Ranks 8 and 64 in turn, 3 adapters: real ranks 8, 64, 8. A slot of rank 64 has 64 x 16,384 x 2 targets x 80
// layers x 2 B; in the mean (56 + 0 + 56) / 3 ranks of it are unused.
TEST(AdapterMemory, WasteOfARankLimit) {
  ServedAdapters adapters;
  adapters.count = 3;
  adapters.slots = 10;
  adapters.variants = {{8, {"q", "v"}}, {64, {"q", "v"}}};
  AdapterSlots slots = adapter_slots(square_70b(), engine(1), adapters);
  double const of_rank = k70b / 16;
  EXPECT_EQ(slots.count, 10);
  EXPECT_DOUBLE_EQ(slots.each.value, 64 * of_rank);
  EXPECT_DOUBLE_EQ(slots.wasted.value, 10 * of_rank * (56 + 0 + 56) / 3);
  // slots x modules x 2 x (limit - rank) x width x 2 B.
  adapters.variants = {{8, {"q", "v"}}};
  adapters.max_rank = 64;
  slots = adapter_slots(square_70b(), engine(1), adapters);
  EXPECT_DOUBLE_EQ(slots.wasted.value, 10.0 * 160 * 2 * (64 - 8) * 8192 * 2);
}

// Slots hold what any variant targets.
TEST(AdapterMemory, ASlotIsTheUnion) {
  ServedAdapters adapters;
  adapters.variants = {{8, {"q", "v"}}, {16, {"v", "o"}}};
  EXPECT_EQ(slot_of(adapters).rank, 16);
  EXPECT_EQ(slot_of(adapters).targets, (std::vector<std::string>{"q", "v", "o"}));
}

TEST(AdapterMemory, HowManySlots) {
  ServedAdapters adapters;
  auto const count = [&] { return adapter_slots(square_70b(), engine(1), adapters).count; };
  adapters.count = 30;
  EXPECT_EQ(count(), 30);
  adapters.count = 5000;
  EXPECT_EQ(count(), 1024);  // max_num_seqs
  adapters.slots = 7;
  EXPECT_EQ(count(), 7);
  adapters.slots = 0;
  adapters.execution = AdapterExecution::merged;
  EXPECT_EQ(count(), 2);
  adapters.execution = AdapterExecution::deployments;
  EXPECT_EQ(count(), 0);
  adapters.execution = AdapterExecution::none;
  EXPECT_EQ(count(), 0);
  adapters.execution = AdapterExecution::batched;
  adapters.pool = AdapterPool::unified;
  EXPECT_EQ(count(), 0);
}

// Llama-3-70B, tp 8: a page of 16 tokens is 16 x 40,960 B = 655,360 B; 44,892,160 B of an adapter are 68.5 of
// them.
TEST(AdapterMemory, PagesOfAnAdapter) {
  Architecture const a = test::model("llama-3-70b");
  EXPECT_EQ(adapter_pages(a, engine(8), {}, kQAndV), 69);
}

// What slots take is missing for KV pages, byte for byte, and is a line of the ledger.
TEST(AdapterMemory, SlotsComeOutOfTheKvPages) {
  Job job = test::serving_job(test::model("llama-3.1-8b"), 1);
  job.serve->adapters.count = 100;
  AdapterSlots const slots = adapter_slots(job);
  EngineStart const with = engine_start(job);
  job.serve->adapters.pool = AdapterPool::unified;
  EngineStart const without = engine_start(job);
  EXPECT_EQ(slots.count, 100);
  // 32 layers x 16 x ((4096 + 4096) + (4096 + 1024)) x 2 B.
  EXPECT_DOUBLE_EQ(slots.each.value, 32.0 * 16 * (8192 + 5120) * 2);
  EXPECT_DOUBLE_EQ(without.budget.left.value - with.budget.left.value, slots.bytes().value);
  job.serve->adapters.pool = AdapterPool::fixed;
  auto const ledger = memory_ledger(job);
  LedgerLine const* line =
      test::find_line(ledger.front(), Role::rollout, "adapter pool", MemoryCategory::weights);
  ASSERT_NE(line, nullptr);
  EXPECT_DOUBLE_EQ(line->bytes.value, slots.bytes().value);
}

// Two adapters of 13.63 MB on four GPUs of a node: each GPU stands for a quarter of what the node
// holds. host_adapters bounds it.
TEST(AdapterMemory, HostHoldsAdaptersOncePerNode) {
  Job job = test::serving_job(test::model("llama-3.1-8b"), 4);
  job.serve->adapters.count = 2;
  double const each = 32.0 * 16 * (8192 + 5120) * 2;
  auto const host = [&] { return host_peak(memory_ledger(job), job.cluster).bytes.value; };
  EXPECT_DOUBLE_EQ(host(), 2 * each);
  job.serve->adapters.host_adapters = 1;
  EXPECT_DOUBLE_EQ(host(), each);
  job.serve->adapters.execution = AdapterExecution::deployments;
  EXPECT_DOUBLE_EQ(host(), 0);
}

// Llama-3-70B with square projections at tp 4 on H100s: as many slots as the refusal says fit start, one more
// does not.
TEST(AdapterMemory, ARefusalSaysHowManyFit) {
  Job job = test::serving_job(square_70b(), 4);
  job.rollout.parallel.tp = 4;
  job.serve->adapters.count = 2000;
  job.serve->adapters.slots = 2000;
  std::string const refusal = engine_start(job).refusal;
  EXPECT_NE(refusal.find("2000 adapter slots of "), std::string::npos) << refusal;
  auto const at = refusal.find("at most ");
  ASSERT_NE(at, std::string::npos) << refusal;
  int const most = std::stoi(refusal.substr(at + 8));
  job.serve->adapters.slots = most;
  EXPECT_EQ(engine_start(job).refusal, "");
  job.serve->adapters.slots = most + 1;
  EXPECT_NE(engine_start(job).refusal, "");
}

// A unified pool that cannot hold an adapter beside one sequence: an adapter of Llama-3.1-8B is 6.5 pages of
// 2 MiB, a sequence of 150 tokens 10: 16 pages are too few.
TEST(AdapterMemory, UnifiedPoolNeedsAnAdapterAndASequence) {
  Job job = test::serving_job(test::model("llama-3.1-8b"), 1);
  job.serve->adapters.pool = AdapterPool::unified;
  EXPECT_EQ(adapter_pages(job.model, job.rollout, job.serve->adapters, kQAndV), 7);
  job.rollout.kv_cache_bytes = 16.0 * kv_page(job.model, job.rollout);
  EXPECT_NE(engine_start(job).refusal.find("an adapter takes 7 KV pages"), std::string::npos)
      << engine_start(job).refusal;
  job.rollout.kv_cache_bytes = 17.0 * kv_page(job.model, job.rollout);
  EXPECT_EQ(engine_start(job).refusal, "");
}

// A trainer that sends its adapter alone: a slot for each version under way.
TEST(AdapterMemory, SlotsForVersions) {
  Job job = test::colocated_grpo();
  EXPECT_EQ(adapter_slots(job).count, 0);
  job.algorithm.adapter = Adapter{};
  job.algorithm.adapter->targets = {"q", "v"};
  job.algorithm.adapter->sync = AdapterSync::adapter;
  EXPECT_EQ(adapter_slots(job).count, 1);
  job.schedule.kind = ScheduleKind::async;
  job.schedule.async.max_staleness = 3;
  EXPECT_EQ(adapter_slots(job).count, 4);
  EXPECT_DOUBLE_EQ(adapter_slots(job).each.value, 32.0 * 16 * (8192 + 5120) * 2);
  job.rollout.adapter_slots = 6;
  EXPECT_EQ(adapter_slots(job).count, 6);
}

}  // namespace
}  // namespace rollcast
