#include "models/ledger.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "models/roles.hpp"
#include "tests/models/ledger_jobs.hpp"

namespace rollcast {
namespace {

using test::colocated_grpo;
using test::find_line;
using test::model;
using test::plain_job;
using test::sum;

// What parallelism cuts: everything but contexts and communicators.
Bytes cut_part(RankLedger const& l, Phase p) {
  return total(l, p) - sum(l, MemoryCategory::nccl_buffers) - sum(l, MemoryCategory::cuda_context);
}

Bytes largest_cut_part(Job const& job) {
  Bytes largest;
  for (RankLedger const& l : memory_ledger(job)) largest = max(largest, cut_part(l, Phase::update_actor));
  return largest;
}

Bytes states(RankLedger const& l) {
  return sum(l, MemoryCategory::weights) + sum(l, MemoryCategory::gradients) +
         sum(l, MemoryCategory::master_weights) + sum(l, MemoryCategory::optimizer_states);
}

// Llama-3.1-8B, 8,030,261,248 parameters, no sharding: 16 B each.
TEST(Ledger, SftOnOneGpu) {
  RankLedger const l = memory_ledger(plain_job(model("llama-3.1-8b"), AlgorithmKind::sft, 1)).front();
  EXPECT_EQ(l.name, "rank");
  EXPECT_EQ(l.ranks, 1);
  EXPECT_DOUBLE_EQ(states(l).value, 16 * 8'030'261'248.0);
  EXPECT_DOUBLE_EQ(l.capacity.value, find_node(builtin_catalog(), "hgx-h100")->gpu.visible_memory.value);
}

TEST(Ledger, Zero3ShardsAddUpToTheModel) {
  for (char const* name : {"llama-3.1-8b", "qwen2.5-7b", "qwen3-30b-a3b"}) {
    Job job = plain_job(model(name), AlgorithmKind::sft, 64);
    job.train.zero_stage = 3;
    RankLedger const l = memory_ledger(job).front();
    EXPECT_NEAR(64 * states(l).value, 16.0 * static_cast<double>(count_parameters(job.model).total), 1)
        << name;
  }
}

TEST(Ledger, HigherZeroStagesHoldNoMoreState) {
  Job job = plain_job(model("llama-3.1-8b"), AlgorithmKind::ppo, 16);
  Bytes last = bytes(1e18);
  for (int stage = 0; stage <= 3; ++stage) {
    job.train.zero_stage = stage;
    Bytes const now = states(memory_ledger(job).front());
    EXPECT_LT(now, last);
    last = now;
  }
}

// Four models of Llama-3.1-8B, critic and reward with one output row: 2 x (16 + 2) B with lm_head of 128,256
// rows less (16 + 2) B x 128,255 x 4,096.
TEST(Ledger, PpoHoldsFourModels) {
  Job const job = plain_job(model("llama-3.1-8b"), AlgorithmKind::ppo, 1);
  RankLedger const l = memory_ledger(job).front();
  Bytes trainer = states(l);
  trainer -= find_line(l, Role::rollout, "engine weights", MemoryCategory::weights)->bytes;
  EXPECT_DOUBLE_EQ(trainer.value, 36 * 8'030'261'248.0 - 18.0 * 128'255 * 4096);
  for (Role r : {Role::actor, Role::critic, Role::reference, Role::reward}) {
    EXPECT_NE(find_line(l, r, "model", MemoryCategory::weights), nullptr) << name_of(r);
  }
  EXPECT_EQ(find_line(l, Role::reference, "model", MemoryCategory::gradients), nullptr);
  EXPECT_EQ(find_line(l, Role::critic, "logits", MemoryCategory::logits), nullptr);
}

TEST(Ledger, CriticMayBeAnotherModel) {
  Job job = plain_job(model("llama-3.1-8b"), AlgorithmKind::ppo, 1);
  job.critic = model("llama-3.2-1b");
  RankLedger const l = memory_ledger(job).front();
  // 1,235,814,400 parameters with a tied head, and 2,048 for the value.
  EXPECT_DOUBLE_EQ(find_line(l, Role::critic, "model", MemoryCategory::weights)->bytes.value,
                   2.0 * (1'235'814'400 + 2048));
}

// LoRA r 16 on q and v of Llama-3-70B: base 2 x 70,553,706,496 B, adapter 16 x 32,768,000 B; no reference
// copy for dpo: the base is the reference.
TEST(Ledger, LoraFreezesTheBase) {
  Job job = plain_job(model("llama-3-70b"), AlgorithmKind::dpo, 1);
  job.algorithm.adapter = Adapter{};
  job.algorithm.adapter->targets = {"q", "v"};
  RankLedger const l = memory_ledger(job).front();
  EXPECT_DOUBLE_EQ(states(l).value, 2 * 70'553'706'496.0 + 16 * 32'768'000.0);
  EXPECT_DOUBLE_EQ(sum(l, MemoryCategory::gradients).value, 2 * 32'768'000.0);
}

// Three adapters on that base: only their parts are three times as large.
TEST(Ledger, SeveralAdaptersShareTheBase) {
  Job job = plain_job(model("llama-3-70b"), AlgorithmKind::dpo, 1);
  job.algorithm.adapter = Adapter{};
  job.algorithm.adapter->targets = {"q", "v"};
  job.algorithm.adapter->count = 3;
  RankLedger const l = memory_ledger(job).front();
  EXPECT_DOUBLE_EQ(states(l).value, 2 * 70'553'706'496.0 + 3 * 16 * 32'768'000.0);
  EXPECT_DOUBLE_EQ(sum(l, MemoryCategory::gradients).value, 3 * 2 * 32'768'000.0);
}

// QLoRA: 70,553,706,496 less embedding, lm_head (2 x 128,256 x 8,192) and norms (161 x 8,192) in 0.5625 B,
// those in 2.
TEST(Ledger, QloraBase) {
  Job job = plain_job(model("llama-3-70b"), AlgorithmKind::sft, 1);
  job.algorithm.adapter = Adapter{};
  job.algorithm.adapter->kind = AdapterKind::qlora;
  job.algorithm.adapter->targets = {"q", "v"};
  RankLedger const l = memory_ledger(job).front();
  double const plain = 2.0 * 128'256 * 8192 + 161.0 * 8192;
  EXPECT_DOUBLE_EQ(find_line(l, Role::actor, "base in 4 bits", MemoryCategory::weights)->bytes.value,
                   0.5625 * (70'553'706'496.0 - plain));
  EXPECT_DOUBLE_EQ(find_line(l, Role::actor, "base", MemoryCategory::weights)->bytes.value, 2 * plain);
  EXPECT_NE(find_line(l, Role::actor, "dequantized weight", MemoryCategory::gather_buffers), nullptr);
}

TEST(Ledger, TotalsAndPeakAreSumsOfLines) {
  std::vector<Job> jobs = {colocated_grpo()};
  for (AlgorithmKind k : {AlgorithmKind::sft, AlgorithmKind::dpo, AlgorithmKind::ppo, AlgorithmKind::grpo}) {
    jobs.push_back(plain_job(model("qwen2.5-7b"), k, 16));
  }
  for (Job const& job : jobs) {
    for (RankLedger const& l : memory_ledger(job)) {
      for (bool host : {false, true}) {
        Bytes most;
        for (Phase p : named_phases(l)) {
          double by_hand = 0;
          for (LedgerLine const& line : l.lines) {
            bool const there = line.phases.empty() ||
                               std::find(line.phases.begin(), line.phases.end(), p) != line.phases.end();
            if (there && line.host == host) by_hand += line.bytes.value;
          }
          EXPECT_DOUBLE_EQ(total(l, p, host).value, by_hand);
          most = max(most, total(l, p, host));
        }
        EXPECT_DOUBLE_EQ(peak(l, host).bytes.value, most.value);
        EXPECT_DOUBLE_EQ(total(l, peak(l, host).phase, host).value, most.value);
      }
      for (LedgerLine const& line : l.lines) {
        EXPECT_GT(line.bytes.value, 0) << line.name;
        EXPECT_FALSE(line.formula.empty()) << line.name;
        EXPECT_FALSE(line.name.empty());
      }
    }
  }
}

// GPUs are added with each cut, so that the other groups stay as large.
TEST(Ledger, MoreShardingNeverNeedsMore) {
  for (TrainerKind kind : {TrainerKind::megatron, TrainerKind::deepspeed, TrainerKind::fsdp2}) {
    for (Recompute r : {Recompute::none, Recompute::selective, Recompute::full}) {
      for (bool sp : {false, true}) {
        for (int zero = 0; zero <= 3; ++zero) {
          Job base = plain_job(model("qwen3-8b"), AlgorithmKind::sft, 8);
          base.cluster.node.gpus = 8;
          base.train.kind = kind;
          base.train.recompute = r;
          base.train.sequence_parallel = sp;
          base.train.zero_stage = zero;
          base.train.distributed_optimizer = zero > 0;
          base.train.parallel = {2, 2, 1, 1};
          Bytes const before = largest_cut_part(base);
          for (int which = 0; which < 4; ++which) {
            Job more = base;
            more.cluster.nodes = 2;
            if (which == 0) more.train.parallel.tp = 4;
            if (which == 1) more.train.parallel.pp = 4;
            if (which == 2) more.train.parallel.cp = 2;
            EXPECT_LE(largest_cut_part(more), before)
                << name_of(kind) << ' ' << name_of(r) << " sp " << sp << " zero " << zero << " cut " << which;
          }
        }
      }
    }
  }
}

TEST(Ledger, RecomputeNeverNeedsMore) {
  Job job = plain_job(model("qwen2.5-7b"), AlgorithmKind::sft, 8);
  for (int pp : {1, 2, 4}) {
    job.train.parallel.pp = pp;
    Bytes last = bytes(1e18);
    for (Recompute r : {Recompute::none, Recompute::selective, Recompute::full}) {
      job.train.recompute = r;
      Bytes const now = largest_cut_part(job);
      EXPECT_LE(now, last);
      last = now;
    }
  }
}

// Four stages of Llama-3.1-8B with 8 layers of 2,048 tokens each, full recompute: 4, 3, 2, 1 micro-batches of
// 8 x 8,192 B per token; the last also keeps the head's 4 x 4,096.
TEST(Ledger, StagesHoldTheirInFlightMicroBatches) {
  Job job = plain_job(model("llama-3.1-8b"), AlgorithmKind::sft, 4);
  job.train.parallel.pp = 4;
  job.train.recompute = Recompute::full;
  std::vector<RankLedger> const ledgers = memory_ledger(job);
  ASSERT_EQ(ledgers.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    double const head = i == 3 ? 4 * 4096.0 : 0;
    LedgerLine const* line =
        find_line(ledgers[i], Role::actor, "kept activations", MemoryCategory::activations);
    EXPECT_DOUBLE_EQ(line->bytes.value, static_cast<double>(4 - i) * 2048 * (8 * 8192.0 + head));
  }
}

// Llama-3.1-8B recomputes 131,200 B per token of a layer (139,392 less its input) and has 65,536 of gradients
// beside them (activations_test), 2,048 tokens. The first of two stages has no logits; the last has 128,256 x
// (2 + 2 x 4) B per token of them and 4 x 4,096 of the head's inputs, more than both; with a vocabulary of
// 10,000 116,384 B, less.
TEST(Ledger, BackwardOfALayerAndLogitsExcludeEachOther) {
  Job job = plain_job(model("llama-3.1-8b"), AlgorithmKind::sft, 2);
  job.train.kind = TrainerKind::megatron;
  job.train.parallel.pp = 2;
  job.train.recompute = Recompute::full;
  auto const line = [&](std::size_t stage, std::string_view name, MemoryCategory c) {
    std::vector<RankLedger> const ledgers = memory_ledger(job);
    LedgerLine const* l = find_line(ledgers[stage], Role::actor, name, c);
    return l == nullptr ? 0 : l->bytes.value;
  };
  auto const of_layer = [&](std::size_t stage) {
    return line(stage, "recomputed layer", MemoryCategory::activations) +
           line(stage, "gradients of activations", MemoryCategory::activations);
  };
  EXPECT_DOUBLE_EQ(of_layer(0), 2048 * (131'200.0 + 65'536));
  EXPECT_DOUBLE_EQ(of_layer(1), 0);
  EXPECT_DOUBLE_EQ(line(1, "logits", MemoryCategory::logits), 2048 * 128'256 * 2.0);
  job.model.vocab = 10'000;
  EXPECT_DOUBLE_EQ(of_layer(1), 2048 * (131'200.0 + 65'536));
  EXPECT_DOUBLE_EQ(line(1, "logits", MemoryCategory::logits), 0);
}

// Known micro-batches take the place of the largest allowed: 100 tokens for 2,048, in the update alone.
TEST(Ledger, DealtMicroBatches) {
  Job job = plain_job(model("llama-3.1-8b"), AlgorithmKind::dpo, 8);
  job.train.recompute = Recompute::full;
  auto const kept = [](RankLedger const& l) {
    return find_line(l, Role::actor, "kept activations", MemoryCategory::activations)->bytes.value;
  };
  auto const forward = [](RankLedger const& l) {
    return find_line(l, Role::reference, "forward working set", MemoryCategory::activations)->bytes.value;
  };
  RankLedger const allowed = memory_ledger(job).front();
  RankLedger const dealt =
      memory_ledger(job, process_memory(), {{Role::actor, {.forward = 0, .update = 100}}}).front();
  EXPECT_DOUBLE_EQ(kept(dealt) / 100, kept(allowed) / (2 * 2048));
  EXPECT_DOUBLE_EQ(forward(dealt), forward(allowed));
}

// Optimizer states in unified memory are none of the allocator's: 8 B x 8,030,261,248 on the host.
TEST(Ledger, PagedOptimizer) {
  Job job = plain_job(model("llama-3.1-8b"), AlgorithmKind::sft, 1);
  job.train.kind = TrainerKind::ddp;
  job.train.paged_optimizer = true;
  RankLedger const l = memory_ledger(job).front();
  EXPECT_DOUBLE_EQ(sum(l, MemoryCategory::optimizer_states).value, 0);
  EXPECT_DOUBLE_EQ(sum(l, MemoryCategory::optimizer_states, true).value, 8 * 8'030'261'248.0);
}

// 32 layer inputs of 8,192 B a token, 2,048 tokens: one stays, 31 are on the host.
TEST(Ledger, ActivationsInHostMemory) {
  Job job = plain_job(model("llama-3.1-8b"), AlgorithmKind::sft, 1);
  job.train.kind = TrainerKind::megatron;
  job.train.recompute = Recompute::full;
  job.train.offload.activations = true;
  RankLedger const l = memory_ledger(job).front();
  EXPECT_DOUBLE_EQ(
      find_line(l, Role::actor, "kept activations", MemoryCategory::activations, true)->bytes.value,
      31 * 2048 * 8192.0);
  EXPECT_DOUBLE_EQ(find_line(l, Role::actor, "kept activations", MemoryCategory::activations)->bytes.value,
                   2048 * (8192.0 + 4 * 4096));
}

// FSDP2's master weights are the parameters: they move with the weights, not with the optimizer.
TEST(Ledger, FsdpMasterWeightsMoveWithTheParameters) {
  Job job = colocated_grpo();
  job.train.kind = TrainerKind::fsdp2;
  job.train.parallel = {};
  RankLedger const l = memory_ledger(job).front();
  LedgerLine const* master = find_line(l, Role::actor, "model", MemoryCategory::master_weights);
  ASSERT_NE(master, nullptr);
  EXPECT_TRUE(contains(master->phases, Phase::old_logprob));
  EXPECT_FALSE(contains(find_line(l, Role::actor, "model", MemoryCategory::optimizer_states)->phases,
                        Phase::old_logprob));
}

// One micro-batch per step: the inner stages of a pipeline are alike.
TEST(Ledger, EqualStagesAreMerged) {
  Job job = plain_job(model("llama-3.1-8b"), AlgorithmKind::sft, 4);
  job.train.parallel.pp = 4;
  job.algorithm.train_batch = 1;
  std::vector<RankLedger> const ledgers = memory_ledger(job);
  ASSERT_EQ(ledgers.size(), 3U);
  EXPECT_EQ(ledgers[1].name, "stages 1-2");
  EXPECT_EQ(ledgers[1].ranks, 2);
  EXPECT_EQ(ledgers[2].pipeline_stage, 3);
}

TEST(Ledger, ColocatedPhases) {
  RankLedger const l = memory_ledger(colocated_grpo()).front();
  auto const there = [&](Role r, std::string_view name, MemoryCategory c, Phase p, bool host = false) {
    LedgerLine const* line = find_line(l, r, name, c, host);
    return line != nullptr && (line->phases.empty() || contains(line->phases, p));
  };
  using M = MemoryCategory;
  // While the engine generates, the trainer's weights and optimizer are on the host.
  EXPECT_TRUE(there(Role::rollout, "KV pages", M::kv_pages, Phase::generate));
  EXPECT_FALSE(there(Role::actor, "model", M::weights, Phase::generate));
  EXPECT_TRUE(there(Role::actor, "model", M::weights, Phase::generate, true));
  EXPECT_TRUE(there(Role::actor, "model", M::optimizer_states, Phase::generate, true));
  // Log-probs: weights, no optimizer, no gradients, the engine asleep.
  EXPECT_TRUE(there(Role::actor, "model", M::weights, Phase::old_logprob));
  EXPECT_FALSE(there(Role::actor, "model", M::optimizer_states, Phase::old_logprob));
  EXPECT_FALSE(there(Role::actor, "model", M::gradients, Phase::old_logprob));
  EXPECT_FALSE(there(Role::rollout, "engine weights", M::weights, Phase::old_logprob));
  EXPECT_TRUE(there(Role::rollout, "engine residue", M::engine_residue, Phase::old_logprob));
  // The reference takes the actor's place.
  EXPECT_TRUE(there(Role::reference, "model", M::weights, Phase::reference));
  EXPECT_FALSE(there(Role::actor, "model", M::weights, Phase::reference));
  // The update has everything of the trainer and nothing awake.
  EXPECT_TRUE(there(Role::actor, "model", M::optimizer_states, Phase::update_actor));
  EXPECT_FALSE(there(Role::rollout, "KV pages", M::kv_pages, Phase::update_actor));
  // Weight sync needs both copies of the weights, no KV yet.
  EXPECT_TRUE(there(Role::actor, "model", M::weights, Phase::weight_sync));
  EXPECT_TRUE(there(Role::rollout, "engine weights", M::weights, Phase::weight_sync));
  EXPECT_FALSE(there(Role::rollout, "KV pages", M::kv_pages, Phase::weight_sync));
}

// utilization x capacity is what engine weights, step, KV pages (in whole pages of 2 MiB), graphs and the
// growth outside PyTorch fill, so a generate phase holds it up to one page, plus what the budget does not
// cover: the engine's context and residue (0.14 GiB of which is that growth), the trainer's context and
// communicators. vLLM before 0.21 leaves the graphs out.
TEST(Ledger, GenerateFillsTheEnginesShare) {
  for (bool graphs_inside : {true, false}) {
    Job job = colocated_grpo();
    if (!graphs_inside) job.rollout.version = "0.10.0";
    ProcessMemory const& m = process_memory();
    Bytes const outside = 2.0 * m.cuda_context.value + m.engine_residue.value +
                          (graphs_inside ? Bytes(0) : m.cuda_graphs.value) + trainer_communicators(job, m) -
                          m.engine_non_torch.value;
    Bytes const share = 0.6 * job.cluster.node.gpu.visible_memory;
    Bytes const held = total(memory_ledger(job).front(), Phase::generate);
    EXPECT_LE(held.value, (share + outside).value);
    EXPECT_GT(held.value, (share + outside - MiB(2)).value);
  }
}

// The published recipe runs on 80 GB cards.
TEST(Ledger, ColocatedRecipeFits) {
  for (RankLedger const& l : memory_ledger(colocated_grpo())) EXPECT_LT(peak(l).bytes, l.capacity);
}

TEST(Ledger, WithoutSleepTheEngineStays) {
  Job job = colocated_grpo();
  job.rollout.sleep_level = 0;
  RankLedger const l = memory_ledger(job).front();
  EXPECT_TRUE(find_line(l, Role::rollout, "KV pages", MemoryCategory::kv_pages)->phases.empty());
  EXPECT_EQ(find_line(l, Role::rollout, "sleeping engine weights", MemoryCategory::weights, true), nullptr);
  EXPECT_GT(peak(l).bytes, peak(memory_ledger(colocated_grpo()).front()).bytes);
}

TEST(Ledger, SleepLevelTwoKeepsNoHostCopy) {
  Job job = colocated_grpo();
  job.rollout.sleep_level = 2;
  RankLedger const l = memory_ledger(job).front();
  EXPECT_EQ(find_line(l, Role::rollout, "sleeping engine weights", MemoryCategory::weights, true), nullptr);
}

// Llama-3.1-8B, four sequences of 2,048 tokens x 131,072 B. Concatenation: one of 32 layers' K or V once
// more; before transformers 4.42 the whole cache.
TEST(Ledger, GenerateConcatenatesItsCache) {
  Job job = plain_job(model("llama-3.1-8b"), AlgorithmKind::grpo, 8);
  job.rollout.kind = EngineKind::hf;
  job.rollout.feed = 4;
  double const cache = 4 * 2'048 * 131'072.0;
  double const copies = cache / 32 * 4;  // of a layer's, 8 KV heads to 32 query heads
  EXPECT_DOUBLE_EQ(sum(memory_ledger(job).front(), MemoryCategory::kv_pages).value,
                   cache * (1 + 1 / 64.0) + copies);
  job.rollout.version = "4.38.0";
  EXPECT_DOUBLE_EQ(sum(memory_ledger(job).front(), MemoryCategory::kv_pages).value, cache * 2 + copies);
  job.rollout.kv = KvCache::preallocated;
  EXPECT_DOUBLE_EQ(sum(memory_ledger(job).front(), MemoryCategory::kv_pages).value, cache + copies);
}

// ZeRO-Offload: master weights and states (12 B x 8,030,261,248 / 8) are on the host throughout.
TEST(Ledger, CpuOffloadMovesTheOptimizerToTheHost) {
  Job job = plain_job(model("llama-3.1-8b"), AlgorithmKind::sft, 8);
  job.train.zero_stage = 2;
  job.train.offload.optimizer = true;
  RankLedger const l = memory_ledger(job).front();
  EXPECT_DOUBLE_EQ(sum(l, MemoryCategory::optimizer_states).value, 0);
  EXPECT_DOUBLE_EQ(total(l, Phase::update_actor, true).value, 12 * 8'030'261'248.0 / 8);
  job.train.zero_stage = 3;
  job.train.offload.parameters = true;
  job.train.offload.gradients = true;
  RankLedger const all = memory_ledger(job).front();
  EXPECT_DOUBLE_EQ(states(all).value, 0);
  EXPECT_DOUBLE_EQ(total(all, Phase::update_actor, true).value, 16 * 8'030'261'248.0 / 8);
  EXPECT_GT(sum(all, MemoryCategory::gather_buffers).value, 0);
}

// FSDP2 gathers two layers (218,112,000 parameters each), embedding, norm and lm_head
// (2 x 128,256 x 4,096 + 4,096 = 1,050,677,248) in bf16.
TEST(Ledger, FsdpGatherBuffers) {
  Job job = plain_job(model("llama-3.1-8b"), AlgorithmKind::sft, 8);
  job.train.kind = TrainerKind::fsdp2;
  RankLedger const l = memory_ledger(job).front();
  EXPECT_DOUBLE_EQ(find_line(l, Role::actor, "gathered layers", MemoryCategory::gather_buffers)->bytes.value,
                   2 * 2 * 218'112'000.0);
  EXPECT_DOUBLE_EQ(
      find_line(l, Role::actor, "gathered embedding and head", MemoryCategory::gather_buffers)->bytes.value,
      2 * 1'050'677'248.0);
  EXPECT_DOUBLE_EQ(
      find_line(l, Role::actor, "embedding and head gradients", MemoryCategory::gather_buffers)->bytes.value,
      2 * 1'050'677'248.0);
}

// Two stages on two nodes: each node holds one stage. On one node of 16 GPUs: eight ranks of each.
TEST(Ledger, HostMemoryOfTheFullestNode) {
  Job job = colocated_grpo();
  std::vector<RankLedger> const ledgers = memory_ledger(job);
  ASSERT_EQ(ledgers.size(), 2U);
  double const first = total(ledgers[0], Phase::generate, true).value;
  double const second = total(ledgers[1], Phase::generate, true).value;
  EXPECT_DOUBLE_EQ(host_total(ledgers, job.cluster, Phase::generate).value, 8 * std::max(first, second));
  job.cluster.node.gpus = 16;
  job.cluster.nodes = 1;
  EXPECT_DOUBLE_EQ(host_total(ledgers, job.cluster, Phase::generate).value, 8 * (first + second));
  EXPECT_GE(host_peak(ledgers, job.cluster).bytes, host_total(ledgers, job.cluster, Phase::generate));
  // Nodes of 6 and classes of 8: the second node holds two of the first and four of the second.
  job.cluster.node.gpus = 6;
  EXPECT_DOUBLE_EQ(host_total(ledgers, job.cluster, Phase::generate).value,
                   std::max({6 * first, 2 * first + 4 * second, 4 * second}));
}

TEST(Ledger, SameJobSameLedger) {
  std::vector<RankLedger> const a = memory_ledger(colocated_grpo());
  std::vector<RankLedger> const b = memory_ledger(colocated_grpo());
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].lines.size(), b[i].lines.size());
    for (std::size_t j = 0; j < a[i].lines.size(); ++j)
      EXPECT_EQ(a[i].lines[j].formula, b[i].lines[j].formula);
  }
}

// Log-probabilities of 1,024 sequences over 128,256 entries in fp32, 525 MB, are there beside the pages.
TEST(Ledger, AnEnginesLogProbabilitiesAndResidue) {
  Job job = colocated_grpo();
  Bytes const without = total(memory_ledger(job).front(), Phase::generate);
  job.rollout.logprobs = true;
  EXPECT_NEAR((total(memory_ledger(job).front(), Phase::generate) - without).value, 4.0 * 1024 * 128'256, 1);
  job.rollout.logprobs = false;
  job.rollout.residue = GiB(4.11);
  Bytes const more = GiB(4.11) - process_memory().engine_residue.value;
  EXPECT_NEAR((total(memory_ledger(job).front(), Phase::generate) - without).value, more.value, 1);
}

}  // namespace
}  // namespace rollcast
