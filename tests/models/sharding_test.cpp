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
          std::vector<Tensor> tensors = layer_tensors(a, s);
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

}  // namespace
}  // namespace rollcast
