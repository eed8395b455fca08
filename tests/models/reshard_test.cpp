// The reshard map by hand: which heads and rows go from which rank to which, and what goes wrong without it.
#include "models/reshard.hpp"

#include <gtest/gtest.h>

#include <set>
#include <tuple>

#include "models/adapter.hpp"
#include "models/sharding.hpp"
#include "models/stage_layers.hpp"
#include "tests/models/ledger_jobs.hpp"
#include "tests/models/reshard_reference.hpp"

namespace rollcast {
namespace {

using test::Matrix;
using test::Weights;

// 8 heads and 2 KV heads of width 8, hidden 64.
Architecture small() {
  Architecture a;
  a.name = "small";
  a.layers = 2;
  a.hidden = 64;
  a.heads = 8;
  a.kv_heads = 2;
  a.head_dim = 8;
  a.intermediate = 96;
  a.vocab = 128;
  return a;
}

std::vector<RankPlace> places(int ranks, int per_node, int first_gpu = 0) {
  std::vector<RankPlace> out;
  for (int r = 0; r < ranks; ++r) out.push_back({first_gpu + r, (first_gpu + r) / per_node});
  return out;
}

Reshard megatron_to_engines(Architecture const& a, int train_tp, int train_ranks, int rollout_tp,
                            int rollout_ranks) {
  Reshard r;
  r.model = a;
  r.train.ranks = train_ranks;
  r.train.parallel.tp = train_tp;
  r.train.fused = true;
  r.train.stages = pipeline_stages(a, 1);
  r.rollout.ranks = rollout_ranks;
  r.rollout.parallel.tp = rollout_tp;
  r.rollout.stages = pipeline_stages(a, 1);
  r.train_places = places(train_ranks, 8);
  r.rollout_places = places(rollout_ranks, 8);
  return r;
}

SyncTensor tensor(Reshard const& r, std::string const& name) {
  for (SyncTensor const& t : sync_tensors(r)) {
    if (full_name(t) == name) return t;
  }
  throw std::logic_error("no tensor " + name);
}

std::vector<RankCopy> copies(Reshard const& r, std::string const& name) {
  SyncTensor const t = tensor(r, name);
  return copies_of(map_tensor(r, t), t);
}

// (engine's rank, trainer's rank, first head, heads)
using HeadsMoved = std::set<std::tuple<int, int, std::int64_t, std::int64_t>>;
HeadsMoved heads_moved(Reshard const& r, std::string const& name, std::int64_t width) {
  HeadsMoved out;
  for (RankCopy const& c : copies(r, name))
    out.insert({c.destination_rank, c.source_rank, c.what.rows.first / width, c.what.rows.count / width});
  return out;
}

// tp 2 to tp 4: trainer rank 0 has the KV group 0 with query heads 0-3, rank 1 the group 1 with heads 4-7.
// Each engine rank has two query heads, and ranks 0 and 1 both the KV head 0.
TEST(Reshard, TwoTensorParallelRanksToFour) {
  Reshard const r = megatron_to_engines(small(), 2, 2, 4, 4);
  EXPECT_EQ(heads_moved(r, "layers.0.self_attn.q_proj.weight", 8),
            (HeadsMoved{{0, 0, 0, 2}, {1, 0, 2, 2}, {2, 1, 4, 2}, {3, 1, 6, 2}}));
  for (char const* kv : {"k", "v"}) {
    EXPECT_EQ(heads_moved(r, fmt::format("layers.0.self_attn.{}_proj.weight", kv), 8),
              (HeadsMoved{{0, 0, 0, 1}, {1, 0, 0, 1}, {2, 1, 1, 1}, {3, 1, 1, 1}}));
  }
}

// The same, in elements. linear_qkv of a trainer rank: 4 query heads, a key head, a value head, 48 rows
// of 64. qkv_proj of an engine rank: 2 query heads, a key head, a value head, 32 rows.
TEST(Reshard, OffsetsInTheFusedParameters) {
  Reshard const r = megatron_to_engines(small(), 2, 2, 4, 4);
  SyncTensor const k = tensor(r, "layers.1.self_attn.k_proj.weight");
  TensorMap const m = map_tensor(r, k);
  EXPECT_EQ(m.source.stored, "layers.1.self_attn.linear_qkv.weight");
  EXPECT_EQ(m.destination.stored, "layers.1.self_attn.qkv_proj.weight");
  std::vector<RankCopy> const key = copies_of(m, k);
  ASSERT_EQ(key.size(), 4U);
  EXPECT_EQ(key[1].destination_rank, 1);
  EXPECT_EQ(key[1].what.source_offset, 32 * 64);
  EXPECT_EQ(key[1].what.destination_offset, 16 * 64);
  EXPECT_EQ(key[1].bytes, 8 * 64 * 2);
  // Query heads 2-3 lie behind heads 0-1 of the trainer's rank.
  std::vector<RankCopy> const query = copies(r, "layers.1.self_attn.q_proj.weight");
  EXPECT_EQ(query[1].what.source_offset, 16 * 64);
  EXPECT_EQ(query[1].what.destination_offset, 0);
  // gate_up_proj of rank 3: rows 72-95 of gate, then 24 of up; linear_fc1 of trainer rank 1: 48 and 48.
  std::vector<RankCopy> const up = copies(r, "layers.1.mlp.up_proj.weight");
  EXPECT_EQ(up[3].what.rows.first, 72);
  EXPECT_EQ(up[3].what.source_offset, (48 + 24) * 64);
  EXPECT_EQ(up[3].what.destination_offset, 24 * 64);
  // down is cut by columns: 48 of them lie in a trainer's row, 24 in an engine's.
  std::vector<RankCopy> const down = copies(r, "layers.1.mlp.down_proj.weight");
  EXPECT_EQ(down[3].what.columns.first, 72);
  EXPECT_EQ(down[3].what.source_offset, 24);
  EXPECT_EQ(down[3].what.source_stride, 48);
  EXPECT_EQ(down[3].what.destination_stride, 24);
}

Matrix fused_qkv(Weights const& w) {
  return test::stacked(
      {w.of("self_attn.q_proj.weight"), w.of("self_attn.k_proj.weight"), w.of("self_attn.v_proj.weight")});
}

std::vector<std::int64_t> engine_parameter_of(Weights const& w, int tp, int rank, char const* name) {
  RolloutLayout l;
  l.ranks = tp;
  l.parallel.tp = tp;
  return test::engine_memory(w, l, rank, rank).at(name);
}

// q, k and v put together and then cut by rows: at tp 2 every rank gets 48 rows, as it should, and rank 0
// gets query heads 0-5 in place of 0-3, a key head and a value head.
TEST(FusedBeforeCutting, QkvIsSilentlyWrongAtTwoRanks) {
  Weights const w(small(), 0);
  for (int rank = 0; rank < 2; ++rank) {
    std::vector<std::int64_t> const right =
        engine_parameter_of(w, 2, rank, "layers.0.self_attn.qkv_proj.weight");
    std::vector<std::int64_t> const wrong = test::row_part(fused_qkv(w), 2, rank).at;
    EXPECT_EQ(wrong.size(), right.size());
    EXPECT_NE(wrong, right);
  }
}

// At tp 4 the two KV heads are copied: 2 + 1 + 1 heads a rank make 32 rows, a quarter of 96 rows is 24.
TEST(FusedBeforeCutting, QkvHasAnotherShapeWhereKvHeadsAreCopied) {
  Weights const w(small(), 0);
  EXPECT_EQ(engine_parameter_of(w, 4, 0, "layers.0.self_attn.qkv_proj.weight").size(), 32U * 64);
  EXPECT_EQ(test::row_part(fused_qkv(w), 4, 0).at.size(), 24U * 64);
}

// gate and up: the shape is right at every tp, the contents at none above 1.
TEST(FusedBeforeCutting, GateUpIsSilentlyWrongAtEveryTp) {
  Weights const w(small(), 0);
  Matrix const fused = test::stacked({w.of("mlp.gate_proj.weight"), w.of("mlp.up_proj.weight")});
  for (int tp : {1, 2, 4, 8}) {
    for (int rank = 0; rank < tp; ++rank) {
      std::vector<std::int64_t> const right =
          engine_parameter_of(w, tp, rank, "layers.0.mlp.gate_up_proj.weight");
      std::vector<std::int64_t> const wrong = test::row_part(fused, tp, rank).at;
      EXPECT_EQ(wrong.size(), right.size());
      EXPECT_EQ(wrong == right, tp == 1) << "tp " << tp << " rank " << rank;
    }
  }
}

// Megatron's linear_qkv taken for [q; k; v] is wrong already without tensor parallelism.
TEST(FusedBeforeCutting, MegatronsQkvIsNotTheEngines) {
  Weights const w(small(), 0);
  EXPECT_EQ(test::interleaved_qkv(w, "weight").at.size(), fused_qkv(w).at.size());
  EXPECT_NE(test::interleaved_qkv(w, "weight").at, fused_qkv(w).at);
}

// tp 4 over 2 KV groups: linear_qkv has 96 rows, 24 a rank. Group 0 is query heads 0-3 (rows 0-31), its key
// head (32-39) and its value head (40-47): rank 0 has query rows 0-23, rank 1 query rows 24-31, key and
// value.
TEST(Reshard, MegatronCutsWithinAGroupWhereTpExceedsTheGroups) {
  Reshard const r = megatron_to_engines(small(), 4, 4, 1, 1);
  std::vector<RankCopy> const q = copies(r, "layers.0.self_attn.q_proj.weight");
  ASSERT_EQ(q.size(), 4U);
  EXPECT_EQ(q[0].what.rows.count, 24);
  EXPECT_EQ(q[1].source_rank, 1);
  EXPECT_EQ(q[1].what.rows.first, 24);
  EXPECT_EQ(q[1].what.rows.count, 8);
  std::vector<RankCopy> const k = copies(r, "layers.0.self_attn.k_proj.weight");
  ASSERT_EQ(k.size(), 2U);
  EXPECT_EQ(k[0].source_rank, 1);
  EXPECT_EQ(k[0].what.source_offset, 8 * 64);
  EXPECT_EQ(k[1].source_rank, 3);
}

Reshard sharded(Architecture const& a, Sharding how, int train_ranks) {
  Reshard r = megatron_to_engines(a, 1, train_ranks, 1, 1);
  r.train.fused = false;
  r.train.sharding = how;
  return r;
}

// 16 key rows over 3 ranks: torch.chunk gives 6, 6 and 4.
TEST(Reshard, RowsOverRanksThatDoNotDivideThem) {
  std::vector<RankCopy> const k =
      copies(sharded(small(), Sharding::rows, 3), "layers.0.self_attn.k_proj.weight");
  ASSERT_EQ(k.size(), 3U);
  EXPECT_EQ(k[1].what.rows.first, 6);
  EXPECT_EQ(k[2].what.rows.count, 4);
  EXPECT_EQ(k[2].what.source_offset, 0);
  // Key rows lie behind the 64 query rows.
  EXPECT_EQ(k[2].what.destination_offset, (64 + 12) * 64);
}

// 16 x 64 = 1,024 elements over 3 ranks: 342 each, 340 on the last. Rank 1 has elements 342-683: 42-63 of row
// 5, rows 6-9, 0-43 of row 10.
TEST(Reshard, FlatShardsCutRows) {
  std::vector<RankCopy> const k =
      copies(sharded(small(), Sharding::flat, 3), "layers.0.self_attn.k_proj.weight");
  std::vector<PartCopy> of_rank_1;
  for (RankCopy const& c : k) {
    if (c.source_rank == 1) of_rank_1.push_back(c.what);
  }
  // Rank 0 ends at element 341, row 5 column 21; so rank 1 begins at column 22.
  ASSERT_EQ(of_rank_1.size(), 3U);
  EXPECT_EQ(of_rank_1[0].rows.first, 5);
  EXPECT_EQ(of_rank_1[0].columns.first, 22);
  EXPECT_EQ(of_rank_1[0].columns.count, 42);
  EXPECT_EQ(of_rank_1[1].rows.first, 6);
  EXPECT_EQ(of_rank_1[1].rows.count, 4);
  EXPECT_EQ(of_rank_1[1].source_offset, 42);
  EXPECT_EQ(of_rank_1[2].rows.first, 10);
  EXPECT_EQ(of_rank_1[2].columns.count, 684 - 640);
}

// FSDP1, 4 ranks: the layer is q 4,096, k 1,024, v 1,024, o 4,096, gate, up and down 6,144 each, two norms of
// 64 last: 28,800 elements, 7,200 a rank. v begins at 5,120 and lies on rank 0 alone; o is elements 6,144 to
// 10,239: 1,056 of them on rank 0 (16 rows and a half), the others on rank 1.
TEST(Reshard, OneFlatParameterOfALayer) {
  Reshard const r = sharded(small(), Sharding::flat_layer, 4);
  std::vector<RankCopy> const v = copies(r, "layers.0.self_attn.v_proj.weight");
  ASSERT_EQ(v.size(), 1U);
  EXPECT_EQ(v[0].source_rank, 0);
  EXPECT_EQ(v[0].what.source_offset, 5120);
  std::vector<RankCopy> const o = copies(r, "layers.0.self_attn.o_proj.weight");
  ASSERT_EQ(o.size(), 4U);
  EXPECT_EQ(o[0].what.rows.count, 16);
  EXPECT_EQ(o[1].what.columns.count, 32);
  EXPECT_EQ(o[2].source_rank, 1);
  EXPECT_EQ(o[2].what.source_offset, 0);
  std::vector<RankCopy> const norm = copies(r, "layers.0.input_layernorm.weight");
  EXPECT_EQ(norm[0].source_rank, 3);
  EXPECT_EQ(norm[0].what.source_offset, 28800 - 128 - 3 * 7200);
}

// Two nodes of 8. tp 2, so that 8 ranks hold each half; engines of one rank each need both halves. Of the
// half that it trains a rank has a copy of its own; the other comes from its node, whose four holders send it
// to one rank each of the four that ask.
TEST(Reshard, TheNearestCopySendsAndCopiesShareTheWork) {
  Reshard const r = megatron_to_engines(small(), 2, 16, 1, 16);
  std::map<int, int> remote;
  for (RankCopy const& c : copies(r, "layers.0.mlp.down_proj.weight")) {
    EXPECT_NE(c.link, SyncLink::network);
    bool const own = c.source_rank % 2 == c.destination_rank % 2;
    EXPECT_EQ(c.link == SyncLink::same_gpu, own);
    if (own) {
      EXPECT_EQ(c.source_rank, c.destination_rank);
    } else {
      ++remote[c.source_rank];
    }
  }
  EXPECT_EQ(remote.size(), 16U);
}

// One engine elsewhere, eight whole copies: they take turns from tensor to tensor. The two layers have 9
// tensors each, and 3 are outside: 9 + 9 + 3 = 21, no sender has more than 3 + 1.
TEST(Reshard, CopiesTakeTurnsOverTheTensors) {
  Reshard r = megatron_to_engines(small(), 1, 8, 1, 1);
  r.rollout_places = places(1, 8, 8);
  std::map<int, int> sent;
  for (SyncTensor const& t : sync_tensors(r)) {
    std::set<int> senders;
    for (RankCopy const& c : copies_of(map_tensor(r, t), t)) {
      EXPECT_EQ(c.link, SyncLink::network);
      senders.insert(c.source_rank);
    }
    ASSERT_EQ(senders.size(), 1U);
    ++sent[*senders.begin()];
  }
  EXPECT_EQ(sent.size(), 8U);
  for (auto const& [rank, tensors] : sent) EXPECT_LE(tensors, 4) << rank;
}

// With experts on ep 2 x etp 1 of the trainer and ep 4 of the engines, 8 experts move in runs of two.
TEST(Reshard, ExpertsThatBothSidesKeepTogetherAreOneEntry) {
  Architecture a = small();
  a.moe = Moe{.experts = 8, .experts_per_token = 2, .expert_intermediate = 16, .first_dense_layers = 1};
  Reshard r = megatron_to_engines(a, 2, 2, 4, 4);
  r.train.parallel.ep = 2;
  r.train.parallel.etp = 1;
  r.rollout.parallel.ep = 4;
  int runs = 0;
  for (SyncTensor const& t : sync_tensors(r)) {
    if (t.tensor.name != "mlp.experts.up_proj.weight") continue;
    EXPECT_EQ(t.experts, 2);
    std::vector<RankCopy> const moved = copies_of(map_tensor(r, t), t);
    ASSERT_EQ(moved.size(), 1U);
    EXPECT_EQ(moved[0].source_rank, runs / 2);
    EXPECT_EQ(moved[0].destination_rank, runs);
    // w13: 16 rows of gate before.
    EXPECT_EQ(moved[0].what.destination_offset, 16 * 64);
    ++runs;
  }
  EXPECT_EQ(runs, 4);
}

// The parts that engines hold are those that the ledger counts.
TEST(Reshard, EnginesHoldWhatTheLedgerCounts) {
  for (char const* name : {"llama-3.1-8b-instruct", "qwen2.5-7b", "qwen3-30b-a3b", "deepseek-v3"}) {
    Job job = test::plain_job(test::model(name), AlgorithmKind::grpo, 8);
    job.train.kind = TrainerKind::megatron;
    for (int const tp : {1, 2, 4}) {
      if (job.model.heads % tp != 0) continue;
      job.rollout.parallel.tp = tp;
      Reshard const r = reshard_of(job, {});
      for (SyncTensor const& t : sync_tensors(r)) {
        if (t.layer > 4 || t.tensor.split == Split::vocab) continue;
        Shards const parts = rollout_shards(r.model, r.rollout, t);
        EXPECT_EQ(parts.parts.front().count(), shard_count(t.tensor, r.model, r.rollout.parallel))
            << name << " tp " << tp << " " << full_name(t);
      }
    }
  }
}

// Rank 16 on the q and v of Llama-3.1-8B: A [16, 4096] whole on every rank, B [4096, 16] and [1024, 16] cut.
TEST(Reshard, AnAdapterAloneSendsItsFactors) {
  Job job = test::plain_job(test::model("llama-3.1-8b-instruct"), AlgorithmKind::grpo, 2);
  job.train.kind = TrainerKind::fsdp2;
  job.algorithm.adapter = Adapter{.rank = 16, .targets = {"q", "v"}};
  job.algorithm.adapter->sync = AdapterSync::adapter;
  job.rollout.parallel.tp = 2;
  Reshard const r = reshard_of(job, {});
  std::int64_t parameters = 0;
  std::map<int, std::int64_t> received;
  for (SyncTensor const& t : sync_tensors(r)) {
    parameters += t.tensor.rows * t.tensor.columns;
    for (RankCopy const& c : copies_of(map_tensor(r, t), t)) received[c.destination_rank] += c.bytes;
  }
  EXPECT_EQ(parameters, adapter_parameters(*job.algorithm.adapter, job.model));
  // Of each layer 2 x 16 x 4096 + 16 x (4096 + 1024) / 2 elements of 2 B.
  std::int64_t const each = 32 * 2 * (2 * 16 * 4096 + 16 * (4096 + 1024) / 2);
  EXPECT_EQ(received, (std::map<int, std::int64_t>{{0, each}, {1, each}}));
}

TEST(Reshard, AJobWithoutRolloutHasNoMap) {
  EXPECT_THROW(reshard_of(test::plain_job(small(), AlgorithmKind::sft, 8), {}), std::logic_error);
}

// Two pools that are parts of one node: node 0 of both, GPUs of their own.
TEST(Reshard, PartsOfANodeAreNear) {
  Job job = test::plain_job(small(), AlgorithmKind::grpo, 4);
  job.pools = {{"train", job.cluster, true}, {"rollout", job.cluster, true}};
  job.role_pools.rollout = 1;
  Reshard const r = reshard_of(job, {});
  EXPECT_EQ(link_between(r.train_places[0], r.rollout_places[0]), SyncLink::node);
  job.pools[0].part_of_node = job.pools[1].part_of_node = false;
  Reshard const apart = reshard_of(job, {});
  EXPECT_EQ(link_between(apart.train_places[0], apart.rollout_places[0]), SyncLink::network);
}

}  // namespace
}  // namespace rollcast
