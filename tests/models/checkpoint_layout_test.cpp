#include "models/checkpoint_layout.hpp"

#include <gtest/gtest.h>

#include "models/checkpoint.hpp"
#include "tests/models/ledger_jobs.hpp"

namespace rollcast {
namespace {

std::vector<std::pair<int, double>> of(std::vector<ShardRead> const& reads) {
  std::vector<std::pair<int, double>> out;
  for (ShardRead const& r : reads) out.emplace_back(r.rank, r.bytes.value);
  return out;
}

using Reads = std::vector<std::pair<int, double>>;

// Two tensors of 8 x 3 and 4 x 5 elements of 2 B: 44 elements, 88 B.
RankBlocks two_tensors() { return {{0, {0, 8}, {0, 3}}, {1, {0, 4}, {0, 5}}}; }

// FSDP's rows of each.
Layout row_shards(int ranks) {
  Layout all(static_cast<std::size_t>(ranks));
  for (int r = 0; r < ranks; ++r) {
    for (Block const& b : two_tensors()) {
      IndexRange const rows = part_of(b.rows.count, ranks, r);
      if (rows.count > 0) all[static_cast<std::size_t>(r)].push_back({b.tensor, rows, b.columns});
    }
  }
  return all;
}

// A quarter is 2 rows of the first and 1 of the second: 11 elements, 22 B; a half 44 B.
TEST(CheckpointLayout, RowShardsOfFourRanksToTwoAndBack) {
  Layout const four = row_shards(4);
  Layout const two = row_shards(2);
  LoadPlan const fewer = load_plan(four, two, Bytes(2));
  ASSERT_EQ(fewer.size(), 2U);
  EXPECT_EQ(of(fewer[0]), (Reads{{0, 22}, {1, 22}}));
  EXPECT_EQ(of(fewer[1]), (Reads{{2, 22}, {3, 22}}));
  LoadPlan const more = load_plan(two, four, Bytes(2));
  ASSERT_EQ(more.size(), 4U);
  EXPECT_EQ(of(more[0]), (Reads{{0, 22}}));
  EXPECT_EQ(of(more[1]), (Reads{{0, 22}}));
  EXPECT_EQ(of(more[2]), (Reads{{1, 22}}));
  EXPECT_EQ(of(more[3]), (Reads{{1, 22}}));
}

// torch.chunk: 8 rows over 3 ranks are 3, 3 and 2; 4 rows 2, 2 and none.
TEST(CheckpointLayout, RowShardsAreThoseOfChunk) {
  Layout const three = row_shards(3);
  EXPECT_EQ(three[1], (RankBlocks{{0, {3, 3}, {0, 3}}, {1, {2, 2}, {0, 5}}}));
  EXPECT_EQ(three[2], (RankBlocks{{0, {6, 2}, {0, 3}}}));
}

// 44 elements end to end in four parts of 11. The second is elements 11 to 22: two of row 3, rows 4 to 6, and
// none of row 7 but its first.
TEST(CheckpointLayout, FlatPartsAreRestOfARowWholeRowsAndABeginning) {
  EXPECT_EQ(flat_part(two_tensors(), 1, 4),
            (RankBlocks{{0, {3, 1}, {2, 1}}, {0, {4, 3}, {0, 3}}, {0, {7, 1}, {0, 1}}}));
  std::int64_t sum = 0;
  for (int i = 0; i < 7; ++i) sum += elements_of(flat_part(two_tensors(), i, 7));
  EXPECT_EQ(sum, 44);
}

// ZeRO's flat parts of two ranks read by row shards of two: the first half of the buffer is 22 elements, 7
// rows and a third of the first tensor. The first rank needs rows 0-3 of it and, beyond the half, rows 0-1 of
// the second.
TEST(CheckpointLayout, FlatPartsToRowShards) {
  Layout const flat = {flat_part(two_tensors(), 0, 2), flat_part(two_tensors(), 1, 2)};
  LoadPlan const plan = load_plan(flat, row_shards(2), Bytes(1));
  EXPECT_EQ(of(plan[0]), (Reads{{0, 12}, {1, 10}}));
  EXPECT_EQ(of(plan[1]), (Reads{{0, 10}, {1, 12}}));
}

TEST(CheckpointLayout, WhatNobodySavedCannotBeLoaded) {
  Layout const saved = {{{0, {0, 8}, {0, 3}}}};
  EXPECT_THROW(load_plan(saved, {two_tensors()}, Bytes(1)), std::logic_error);
  EXPECT_THROW(load_plan({saved[0], saved[0]}, saved, Bytes(1)), std::logic_error);
}

Job layout_job(TrainerKind kind, int gpus, Parallel parallel, char const* name) {
  Job job = test::plain_job(test::model(name), AlgorithmKind::sft, gpus);
  job.train.kind = kind;
  job.train.parallel = parallel;
  job.train.distributed_optimizer = kind == TrainerKind::megatron;
  job.train.zero_stage = 1;
  return job;
}

std::vector<Job> layout_jobs() {
  char const* const dense = "llama-3.1-8b";
  std::vector<Job> jobs = {
      layout_job(TrainerKind::fsdp2, 8, {}, dense),
      layout_job(TrainerKind::deepspeed, 8, {}, dense),
      layout_job(TrainerKind::deepspeed, 4, {}, dense),
      layout_job(TrainerKind::ddp, 2, {}, dense),
      layout_job(TrainerKind::megatron, 8, {.tp = 2, .pp = 2}, dense),
      layout_job(TrainerKind::megatron, 16, {.tp = 4, .pp = 2, .cp = 2}, dense),
      layout_job(TrainerKind::megatron, 16, {.tp = 16}, dense)};  // more ranks than kv heads
  jobs[2].train.zero_stage = 3;
  jobs[0].train.shard_ranks = 4;
  return jobs;
}

// Whatever layout saved, each element is saved once, and every layout reads from it what it holds.
TEST(CheckpointLayout, EveryLayoutLoadsFromEveryOther) {
  std::int64_t all = 0;
  for (SyncTensor const& t : checkpoint_tensors(layout_jobs().front())) all += t.tensor.count();
  EXPECT_EQ(all, 8'030'261'248);
  for (SavedState state : {SavedState::weights, SavedState::optimizer}) {
    std::vector<Layout> held;
    for (Job const& job : layout_jobs()) held.push_back(held_layout(job, state));
    for (Job const& from : layout_jobs()) {
      Layout const saved = saved_layout(from, state);
      std::int64_t sum = 0;
      for (RankBlocks const& blocks : saved) sum += elements_of(blocks);
      EXPECT_EQ(sum, all);
      for (Layout const& to : held) {
        LoadPlan const plan = load_plan(saved, to, Bytes(1));
        for (std::size_t r = 0; r < to.size(); ++r) {
          Bytes read;
          for (ShardRead const& s : plan[r]) read += s.bytes;
          EXPECT_DOUBLE_EQ(read.value, static_cast<double>(elements_of(to[r])));
        }
      }
    }
  }
}

// The closed forms that the ledger and the load time use are the layouts' sums: bytes of a rank of each
// stage, of the flat parts up to the rounding of a part, of row shards to the rows that chunks round up, of a
// vocabulary to the rows that Megatron's padding shifts (64 of 32,064 a rank at tp 4).
TEST(CheckpointLayout, ClosedFormsAreTheLayoutsSums) {
  std::vector<Job> jobs = layout_jobs();
  jobs.pop_back();  // Megatron cuts a group of heads; the closed form counts a KV head whole on every rank
  jobs.push_back(layout_job(TrainerKind::megatron, 16, {.tp = 2, .ep = 4}, "qwen3-30b-a3b"));
  for (Job const& job : jobs) {
    Layout const weights = held_layout(job, SavedState::weights);
    Layout const optimizer = held_layout(job, SavedState::optimizer);
    int const pp = job.train.parallel.pp;
    bool const fsdp = job.train.kind == TrainerKind::fsdp2;
    for (int stage = 0; stage < pp; ++stage) {
      auto const first = weights.size() / static_cast<std::size_t>(pp) * static_cast<std::size_t>(stage);
      double const held = (fsdp ? 0 : 2.0) * static_cast<double>(elements_of(weights[first])) +
                          12.0 * static_cast<double>(elements_of(optimizer[first]));
      double const closed = loaded_bytes(job, stage).value;
      EXPECT_NEAR(held, closed, 3e-4 * closed) << name_of(job.train.kind) << " " << stage;
    }
  }
}

// Saved by 2 x 2 ranks of tensor and pipeline parallelism, read by tp 4 without a pipeline: each new rank
// holds half of what one of tp 2 does in every layer of both stages. q_proj of layer 0 (4096 x 4096): new
// rank 1 holds rows 1024 to 2047, which ranks of tp 0 hold. Rows of the padded vocabulary (embedding and
// head): 32,128 for 32,064 on the first three, 31,872 on the last, where tp 2 cuts at 64,128.
TEST(CheckpointLayout, TensorParallelRanksReadHalfOfAWiderOne) {
  Job const from = layout_job(TrainerKind::megatron, 4, {.tp = 2, .pp = 2}, "llama-3.1-8b");
  Job const to = layout_job(TrainerKind::megatron, 4, {.tp = 4}, "llama-3.1-8b");
  LoadPlan const plan =
      load_plan(saved_layout(from, SavedState::weights), held_layout(to, SavedState::weights), Bytes(2));
  double const matrices = 2.0 * (8'030'261'248.0 - 65 * 4096);  // without the norms, which every rank holds
  for (std::size_t r = 0; r < 4; ++r) {
    Bytes read;
    double cut = 0;
    int const half = static_cast<int>(r) / 2;
    for (ShardRead const& s : plan[r]) {
      read += s.bytes;
      if (s.rank % 2 == half) cut += s.bytes.value;
    }
    double const shifted = 2.0 * 2 * 4096 * (r < 3 ? 64 : -192);
    EXPECT_DOUBLE_EQ(read.value, matrices / 4 + 2.0 * 65 * 4096 + shifted);
    EXPECT_NEAR(cut, matrices / 4 + shifted, 2.0 * 65 * 4096 + 2.0 * 2 * 4096 * 128);
  }
}

}  // namespace
}  // namespace rollcast
