#include "models/sharding.hpp"

#include <gtest/gtest.h>

#include "tests/models/ledger_jobs.hpp"

namespace rollcast {
namespace {

Stage whole(Architecture const& a) { return pipeline_stages(a, 1).front(); }

TEST(Sharding, OneRankHoldsEverything) {
  for (char const* name :
       {"llama-3.1-8b", "llama-3.2-1b", "qwen3-30b-a3b", "deepseek-v3", "qwen3.5-9b", "opt-350m"}) {
    Architecture const a = test::model(name);
    RankParameters const n = rank_parameters(a, whole(a), Head::vocabulary, {}, std::nullopt);
    EXPECT_DOUBLE_EQ(n.total(), static_cast<double>(count_parameters(a).total)) << name;
  }
}

// Llama-3-70B, 70,553,706,496 parameters of which 161 norms of 8,192 = 1,318,912 are on every rank:
// 70,552,387,584 / 8 + 1,318,912 = 8,820,367,360.
TEST(Sharding, NormsAreReplicatedUnderTensorParallelism) {
  Architecture const a = test::model("llama-3-70b");
  EXPECT_DOUBLE_EQ(rank_parameters(a, whole(a), Head::vocabulary, {8, 1, 1, 1}, std::nullopt).total(),
                   8'820'367'360);
}

// k_proj [1024, 8192] with 8 kv heads of 128: tp 16 gives every rank one whole head, as tp 8 does.
TEST(Sharding, KeyAndValueHeadsAreCopiedBeyondTheirNumber) {
  Architecture const a = test::model("llama-3-70b");
  for (Tensor const& t : layer_tensors(a, 0)) {
    if (t.name != "self_attn.k_proj.weight") continue;
    EXPECT_EQ(shard_count(t, a, {8, 1, 1, 1}), 128 * 8192);
    EXPECT_EQ(shard_count(t, a, {16, 1, 1, 1}), 128 * 8192);
  }
}

// Qwen3-30B-A3B: 128 experts of 3 x 768 x 2,048 per layer and 48 layers; ep 8 leaves 16 of them.
TEST(Sharding, ExpertParallelismCutsExperts) {
  Architecture const a = test::model("qwen3-30b-a3b");
  RankParameters const n = rank_parameters(a, whole(a), Head::vocabulary, {1, 1, 1, 8}, std::nullopt);
  EXPECT_DOUBLE_EQ(n.experts, 48.0 * 16 * 3 * 768 * 2048);
  EXPECT_DOUBLE_EQ(n.dense + 8 * n.experts, static_cast<double>(count_parameters(a).total));
}

// Every parameter is somewhere exactly once: cut tensors counted on all tp ranks, whole ones on one.
TEST(Sharding, TensorAndPipelineCutsAddUpToTheModel) {
  for (char const* name : {"llama-3.1-8b", "llama-3-70b", "qwen2.5-7b", "qwen3-30b-a3b", "deepseek-v3"}) {
    Architecture const a = test::model(name);
    for (int tp : {1, 2, 4}) {
      for (int pp : {1, 2, 3, 4}) {
        std::int64_t sum = 0;
        for (Stage const& s : pipeline_stages(a, pp)) {
          std::vector<Tensor> tensors;
          for (int layer = s.first_layer; layer < s.first_layer + s.layers; ++layer) {
            for (Tensor const& t : layer_tensors(a, layer)) tensors.push_back(t);
          }
          for (Tensor const& t : outer_tensors(a, s, Head::vocabulary)) tensors.push_back(t);
          for (Tensor const& t : tensors) {
            sum += shard_count(t, a, {tp, pp, 1, 1}) * (t.split == Split::replicated ? 1 : tp);
          }
        }
        EXPECT_EQ(sum, count_parameters(a).total) << name << " tp " << tp << " pp " << pp;
      }
    }
  }
}

// Llama-3.2-1B ties lm_head to the embedding, 128,256 x 2,048: with two stages the last one holds a copy.
TEST(Sharding, TiedEmbeddingIsCopiedToTheLastStage) {
  Architecture const a = test::model("llama-3.2-1b");
  double sum = 0;
  for (Stage const& s : pipeline_stages(a, 2)) {
    sum += rank_parameters(a, s, Head::vocabulary, {1, 2, 1, 1}, std::nullopt).total();
  }
  EXPECT_DOUBLE_EQ(sum, static_cast<double>(count_parameters(a).total) + 128'256.0 * 2048);
}

// A critic of Llama-3-70B has one row of 8,192 in place of lm_head's 128,256.
TEST(Sharding, ValueHeadReplacesLmHead) {
  Architecture const a = test::model("llama-3-70b");
  double const critic = rank_parameters(a, whole(a), Head::scalar, {}, std::nullopt).total();
  EXPECT_DOUBLE_EQ(critic, 70'553'706'496.0 - 128'255.0 * 8192);
}

// 64 GPUs, tp 2, pp 2, cp 2: 8 replicas; dense shards over 8 x 2 = 16 ranks, experts at ep 4 over 16 / 4 = 4.
TEST(Sharding, ShardRanks) {
  Job job = test::plain_job(test::model("qwen3-30b-a3b"), AlgorithmKind::sft, 64);
  job.train.parallel = {2, 2, 2, 4};
  EXPECT_EQ(shard_ranks(job), 16);
  EXPECT_EQ(expert_shard_ranks(job), 4);
}

// verl's DeepSeek-V3 on 96 GPUs: tp 8, pp 12, ep 8, etp 1. A stage of five mixtures, per layer and rank:
//   q_a 1,536 x 7,168 and kv_a 576 x 7,168 whole, 15,138,816; q_b 24,576 x 1,536, kv_b 32,768 x 512 and o
//   7,168 x 16,384 over 8, 21,495,808; norms 2 x 7,168 + 1,536 + 512 = 16,384; router 256 x 7,168 and its
//   bias 256, 1,835,264; the shared expert 3 x 7,168 x 2,048 over 8, 5,505,024: 43,991,296 32 of 256 experts
//   of 3 x 7,168 x 2,048 = 44,040,192, whole: 1,409,286,144
// Eight ranks of a stage hold all experts once, and dense tensors are not shared at all.
TEST(Sharding, ExpertsOverTensorParallelRanks) {
  Architecture const a = test::model("deepseek-v3");
  Parallel const p{.tp = 8, .pp = 12, .ep = 8, .etp = 1};
  RankParameters const n = rank_parameters(a, {20, 5, false, false}, Head::vocabulary, p, std::nullopt);
  EXPECT_DOUBLE_EQ(n.dense, 5 * 43'991'296.0);
  EXPECT_DOUBLE_EQ(n.experts, 5 * 1'409'286'144.0);
  EXPECT_DOUBLE_EQ(2 * n.total(), 14'532'774'400.0);  // bytes in bf16
  Job job = test::plain_job(a, AlgorithmKind::sft, 96);
  job.train.parallel = p;
  EXPECT_EQ(shard_ranks(job), 1);
  EXPECT_EQ(expert_shard_ranks(job), 1);
}

// Relax' Qwen3-30B-A3B on 8 GPUs: tp 4, cp 2, ep 8, etp 1. Dense tensors per layer: q and o 4,096 x 2,048 and
// k and v 512 x 2,048 over 4, 4,718,592; norms 2 x 2,048 + 2 x 128 = 4,352; router 128 x 2,048 = 262,144:
// 4,985,088 in each of 48 layers; embedding and lm_head 151,936 x 2,048 over 4, final norm 2,048:
// 394,868,736. 16 of 128 experts of 3 x 2,048 x 768, whole: 75,497,472 a layer. The distributed optimizer
// cuts the dense part over the two context-parallel ranks and the experts not at all.
TEST(Sharding, ExpertsOverTensorAndContextParallelRanks) {
  Architecture const a = test::model("qwen3-30b-a3b");
  Job job = test::plain_job(a, AlgorithmKind::sft, 8);
  job.train.parallel = {.tp = 4, .cp = 2, .ep = 8, .etp = 1};
  RankParameters const n = rank_parameters(a, whole(a), Head::vocabulary, job.train.parallel, std::nullopt);
  EXPECT_DOUBLE_EQ(n.dense, 394'868'736);
  EXPECT_DOUBLE_EQ(n.experts, 48 * 75'497'472.0);
  EXPECT_EQ(shard_ranks(job), 2);
  EXPECT_EQ(expert_shard_ranks(job), 1);
}

// Whatever the grid: all ranks of a stage together hold every expert expert_data_parallel times.
TEST(Sharding, TheExpertGridCoversTheStage) {
  Architecture const a = test::model("qwen3-30b-a3b");
  Job job = test::plain_job(a, AlgorithmKind::sft, 64);
  double const all = 48.0 * 128 * 3 * 2048 * 768;
  for (int tp : {1, 2, 4}) {
    for (int ep : {1, 4, 8, 16}) {
      for (int etp : {0, 1, 2, 4}) {
        job.train.parallel = {.tp = tp, .cp = 2, .ep = ep, .etp = etp};
        RankParameters const n =
            rank_parameters(a, whole(a), Head::vocabulary, job.train.parallel, std::nullopt);
        EXPECT_DOUBLE_EQ(n.experts * 64, all * expert_shard_ranks(job)) << tp << ' ' << ep << ' ' << etp;
      }
    }
  }
}

}  // namespace
}  // namespace rollcast
