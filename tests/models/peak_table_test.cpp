// The nameless ledger against the named one, on random layouts.
#include "models/peak_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <random>

#include "models/engine_start.hpp"
#include "models/pools.hpp"
#include "tests/models/ledger_jobs.hpp"

namespace rollcast {
namespace {

class Dice {
 public:
  explicit Dice(unsigned seed) : engine_(seed) {}
  int below(int n) { return static_cast<int>(engine_() % static_cast<unsigned>(n)); }
  bool even() { return below(2) == 0; }
  template <class T>
  T of(std::initializer_list<T> values) {
    return *(values.begin() + below(static_cast<int>(values.size())));
  }

 private:
  std::mt19937 engine_;
};

FrameworkOptions random_framework(Dice& d) {
  FrameworkOptions f;
  f.kind = d.of({FrameworkKind::nemo_rl, FrameworkKind::verl, FrameworkKind::openrlhf});
  f.order = {Phase::generate,     Phase::sleep,  Phase::score,      Phase::old_logprob,
             Phase::reference,    Phase::values, Phase::advantage,  Phase::update_critic,
             Phase::update_actor, Phase::wake,   Phase::weight_sync};
  if (d.even()) std::swap(f.order[9], f.order[10]);
  f.reference_on_host = d.even();
  f.optimizer_offload = d.even();
  f.parameters_offload = d.even();
  f.engine_first = d.even();
  f.wake_by_tags = d.even();
  f.sync_gather = d.of({SyncGather::tensor, SyncGather::shards, SyncGather::whole, SyncGather::first_rank});
  f.gather_before_wake = d.even();
  if (d.below(4) == 0) f.refit_buffer = GiB(3);
  f.empty_cache = d.even();
  f.load_copies = d.below(3);
  f.numa = d.of({NumaBinding::spread, NumaBinding::first});
  return f;
}

// One or several pools of whole nodes.
void place(Dice& d, Job& job) {
  int const kind = d.below(3);
  if (kind == 0) return;
  ClusterSpec other = job.cluster;
  if (d.even()) other.node = *find_node(builtin_catalog(), "pcie-l40s");
  job.pools = {{"train", job.cluster, false}, {"other", other, false}};
  if (kind == 1) {
    job.role_pools.rollout = 1;
    if (d.even()) job.role_pools.reference = 1;
  } else {
    job.role_pools.critic = job.role_pools.reward = 1;
  }
}

Job random_base(Dice& d) {
  Job job =
      test::plain_job(test::model(d.of({"llama-3.1-8b", "qwen2.5-7b", "llama-3.1-70b", "qwen3-30b-a3b"})),
                      d.of({AlgorithmKind::grpo, AlgorithmKind::ppo, AlgorithmKind::grpo, AlgorithmKind::ppo,
                            AlgorithmKind::sft, AlgorithmKind::dpo}),
                      8 * d.of({1, 2, 4}));
  job.framework = random_framework(d);
  job.algorithm.prompts = 64;
  job.algorithm.group_size = 16;
  job.algorithm.kl_reference = d.even();
  job.algorithm.reward_model = d.even();
  if (d.below(4) == 0) {
    Adapter a;
    a.targets = {"q", "k", "v", "o"};
    a.sync = d.of({AdapterSync::merged, AdapterSync::adapter});
    job.algorithm.adapter = a;
  }
  if (job.algorithm.kind == AlgorithmKind::ppo && d.even()) job.critic = test::model("qwen2.5-1.5b");
  job.checkpoint.every = d.below(2);
  job.checkpoint.mode = d.of({CheckpointMode::sync, CheckpointMode::async});
  job.checkpoint.format = d.of({CheckpointFormat::sharded, CheckpointFormat::gathered});
  job.rollout.max_model_len = d.of({0, 4096});
  if (has_rollout(job.algorithm)) place(d, job);
  return job;
}

Job random_trainer(Dice& d, Job job) {
  TrainerOptions& t = job.train;
  t.kind = d.of({TrainerKind::megatron, TrainerKind::fsdp2, TrainerKind::deepspeed, TrainerKind::ddp});
  t.parallel = {d.of({1, 2, 4}), t.kind == TrainerKind::megatron ? d.of({1, 2}) : 1, 1, 1, 0};
  if (job.model.moe) t.parallel.ep = d.of({1, 2});
  t.zero_stage = d.below(4);
  t.micro_batch = d.of({1, 2, 4});
  t.logprob_micro_batch = d.of({1, 2, 8});
  t.packing = d.even();
  t.dynamic_batching = d.even();
  t.tokens_per_micro_batch = d.of({8192, 16384, 32768});
  t.recompute = d.of({Recompute::none, Recompute::selective, Recompute::full});
  t.sequence_parallel = t.parallel.tp > 1 && d.even();
  t.distributed_optimizer = d.even();
  t.cross_entropy = d.of({CrossEntropy::whole, CrossEntropy::chunked, CrossEntropy::fused});
  t.gradients = d.of({DType::bf16, DType::fp32});
  t.flash_attention_2 = d.even();
  t.offload.optimizer = d.below(4) == 0;
  t.offload.parameters = d.below(8) == 0;
  t.offload.activations = t.parallel.pp == 1 && d.below(8) == 0;
  job.framework.optimizer_offload = d.even();
  job.framework.parameters_offload = d.even();
  return job;
}

// asleep and kind are what a table's engines have in common.
EngineOptions random_engine(Dice& d, EngineKind kind, bool asleep, EngineOptions e) {
  e.kind = kind;
  if (kind == EngineKind::vllm) e.version = d.of({"", "0.6.4", "0.8.5", "0.9.0", "0.21.0"});
  if (kind == EngineKind::hf) e.version = d.of({"4.38", "4.50"});
  e.parallel = {d.of({1, 2, 4}), kind == EngineKind::hf ? 1 : d.of({1, 2}), 1, 1, 0};
  e.gpu_memory_utilization = d.of({0.2, 0.4, 0.6, 0.85, 0.95});
  if (d.below(6) == 0) e.kv = KvCache::preallocated;
  if (d.below(8) == 0) e.kv_cache_bytes = GiB(9);
  e.max_num_seqs = d.of({64, 256, 1024});
  e.max_num_batched_tokens = d.of({2048, 8192});
  e.cuda_graphs = d.even();
  e.logprobs = d.even();
  e.kv_cache = d.of({DType::bf16, DType::fp8});
  e.sleep_level = asleep ? d.of({1, 2}) : 0;
  return e;
}

// The figures of a layout as the named ledger and its readers have them.
LayoutPeak named(Job const& job) {
  LayoutPeak n;
  bool first = true;
  for (int pool = 0; pool < static_cast<int>(pools_of(job).size()); ++pool) {
    Job const view = on_pool(job, pool);
    std::vector<RankLedger> const ledgers = memory_ledger(view);
    for (RankLedger const& l : ledgers) {
      MemoryPeak const top = peak(l);
      if (first || l.capacity - top.bytes < n.headroom)
        n.bytes = top.bytes, n.headroom = l.capacity - top.bytes, n.phase = top.phase, n.pool = pool;
      first = false;
    }
    Bytes const host =
        max(host_peak(ledgers, view.cluster).bytes, view.cluster.node.gpus * host_at_load(view));
    Bytes const room = usable_host_memory(view) - host;
    if (pool == 0 || room < n.host_headroom) n.host_headroom = room;
  }
  if (has_rollout(job.algorithm))
    n.engine_starts = engine_start(on_pool(job, pool_of(job, Role::rollout))).refusal.empty();
  return n;
}

void expect_near(Bytes a, Bytes b) {
  EXPECT_NEAR(a.value, b.value, 1e-9 * std::max(1e9, std::fabs(b.value)));
}

// 150 bases of 3 trainers and 4 engines each: 1,800 layouts.
TEST(PeakTable, IsTheNamedLedgerOnRandomLayouts) {
  Dice d(1);
  int starting = 0;
  int fitting = 0;
  for (int base = 0; base < 150; ++base) {
    Job const job = random_base(d);
    std::vector<Job> trainers;
    for (int i = 0; i < 3; ++i) trainers.push_back(random_trainer(d, job));
    EngineKind const kind = d.of({EngineKind::vllm, EngineKind::sglang, EngineKind::trtllm, EngineKind::hf});
    bool const asleep = d.below(4) > 0;
    std::vector<EngineOptions> engines;
    for (int i = 0; i < 4; ++i) engines.push_back(random_engine(d, kind, asleep, job.rollout));
    PeakTable const table(trainers, engines);
    for (std::size_t t = 0; t < trainers.size(); ++t) {
      for (std::size_t e = 0; e < engines.size(); ++e) {
        SCOPED_TRACE(testing::Message() << "base " << base << ", trainer " << t << ", engine " << e);
        Job layout = trainers[t];
        layout.rollout = engines[e];
        LayoutPeak const wanted = named(layout);
        LayoutPeak const got = table.peak({t, e});
        expect_near(got.bytes, wanted.bytes);
        expect_near(got.headroom, wanted.headroom);
        expect_near(got.host_headroom, wanted.host_headroom);
        EXPECT_EQ(got.phase, wanted.phase);
        EXPECT_EQ(got.pool, wanted.pool);
        EXPECT_EQ(got.engine_starts, wanted.engine_starts);
        starting += got.engine_starts ? 1 : 0;
        fitting += got.fits() ? 1 : 0;
      }
    }
  }
  // The cases are neither all good nor all bad.
  EXPECT_GT(starting, 300);
  EXPECT_LT(starting, 1700);
  EXPECT_GT(fitting, 50);
}

// A trainer that holds 1 GiB more leaves vLLM of before 0.9.1 as many pages less; one that came first leaves
// the engine its pages.
TEST(PeakTable, EnginesThatStartLaterFindLess) {
  Job job = test::colocated_grpo();
  job.rollout.version = "0.9.0";
  job.rollout.gpu_memory_utilization = 0.4;
  job.framework.parameters_offload = false;
  LayoutPeak const first = PeakTable({job}, {job.rollout}).peak({0, 0});
  job.framework.engine_first = false;
  LayoutPeak const later = PeakTable({job}, {job.rollout}).peak({0, 0});
  EXPECT_TRUE(first.engine_starts);
  EXPECT_LT(later.bytes, first.bytes);
}

TEST(PeakTable, EnginesOfOneTableAgreeInWhatTheTrainerSees) {
  Job const job = test::colocated_grpo();
  EngineOptions other = job.rollout;
  other.sleep_level = 0;
  EXPECT_THROW(PeakTable({job}, {job.rollout, other}), std::logic_error);
  other = job.rollout;
  other.max_model_len = 8192;
  EXPECT_THROW(PeakTable({job}, {job.rollout, other}), std::logic_error);
  EXPECT_THROW(PeakTable({}, {job.rollout}), std::logic_error);
}

}  // namespace
}  // namespace rollcast
