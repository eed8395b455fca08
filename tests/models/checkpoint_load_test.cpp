#include "models/checkpoint_load.hpp"

#include <gtest/gtest.h>

#include "tests/models/ledger_jobs.hpp"

namespace rollcast {
namespace {

constexpr double kParameters = 8'030'261'248;  // of Llama-3.1-8B
constexpr double kNorms = 65 * 4096;           // two of each of 32 layers and the last

Job trainer(TrainerKind kind, int gpus, Parallel parallel = {}) {
  Job job = test::plain_job(test::model("llama-3.1-8b"), AlgorithmKind::sft, gpus);
  job.train.kind = kind;
  job.train.parallel = parallel;
  job.train.distributed_optimizer = kind == TrainerKind::megatron;
  return job;
}

// fp32 parameters and two moments: 4 and 8 B. All rows divide by 4.
TEST(CheckpointLoad, FsdpOfFourRanksToTwoAndBack) {
  Job const four = trainer(TrainerKind::fsdp2, 4);
  Job const two = trainer(TrainerKind::fsdp2, 2);
  CheckpointLoad const fewer = checkpoint_load(four, two);
  ASSERT_EQ(fewer.ranks.size(), 2U);
  for (RankRead const& r : fewer.ranks) {
    EXPECT_EQ(r.shards, 2);
    EXPECT_DOUBLE_EQ(r.bytes.weights.value, kParameters / 2 * 4);
    EXPECT_DOUBLE_EQ(r.bytes.optimizer.value, kParameters / 2 * 8);
  }
  CheckpointLoad const more = checkpoint_load(two, four);
  ASSERT_EQ(more.ranks.size(), 4U);
  for (RankRead const& r : more.ranks) {
    EXPECT_EQ(r.shards, 1);
    EXPECT_DOUBLE_EQ(r.bytes.total().value, kParameters / 4 * 12);
  }
  EXPECT_DOUBLE_EQ(read_bytes(more).total().value, more.saved.total().value);
}

// Of tp 4 each rank has a quarter of the matrices and all norms; 128,256 rows of the vocabulary are padded to
// 251 x 512, 32,128 a rank (64 more than a quarter) and 31,872 on the last (192 less), of embedding and head.
// bf16 weights 2 B, fp32 master and moments 12 B. Every rank reads of all four: the tensor-parallel half that
// holds its matrices in both stages, and of the other half its part of the norms, which both hold.
TEST(CheckpointLoad, MegatronOfTwoStagesToOne) {
  CheckpointLoad const load = checkpoint_load(trainer(TrainerKind::megatron, 4, {.tp = 2, .pp = 2}),
                                              trainer(TrainerKind::megatron, 4, {.tp = 4}));
  EXPECT_DOUBLE_EQ(load.saved.weights.value, kParameters * 2);
  EXPECT_DOUBLE_EQ(load.saved.optimizer.value, kParameters * 12);
  for (std::size_t r = 0; r < 4; ++r) {
    double const vocabulary = 2.0 * 4096 * (r < 3 ? 64 : -192);
    double const held = (kParameters - kNorms) / 4 + kNorms + vocabulary;
    EXPECT_DOUBLE_EQ(load.ranks[r].bytes.weights.value, held * 2) << r;
    EXPECT_DOUBLE_EQ(load.ranks[r].bytes.optimizer.value, held * 12) << r;
    EXPECT_EQ(load.ranks[r].shards, 4) << r;
  }
  EXPECT_EQ(busiest_reader(load), 0);
  EXPECT_DOUBLE_EQ(read_bytes(load).total().value, (kParameters + 3 * kNorms) * 14);
}

// 32 heads in 8 groups of (4 + 1 + 1) x 128 rows: of tp 16 every rank holds half a group, 384 rows, and a
// rank with a whole one (tp 8) reads of two. The padded vocabulary cuts at other rows: 63 x 128 a rank of 16,
// 63 x 256 of 8.
TEST(CheckpointLoad, MoreTensorParallelRanksThanGroups) {
  CheckpointLoad const load = checkpoint_load(trainer(TrainerKind::megatron, 16, {.tp = 16}),
                                              trainer(TrainerKind::megatron, 8, {.tp = 8}));
  EXPECT_DOUBLE_EQ(load.saved.total().value, kParameters * 14);
  EXPECT_DOUBLE_EQ(read_bytes(load).total().value, (kParameters + 7 * kNorms) * 14);
}

// Every element is saved once and every reader gets all it holds, whatever cut the optimizer's flat parts:
// load_plan throws where it does not.
TEST(CheckpointLoad, AnyTrainerReadsOfAnyOther) {
  std::vector<Job> jobs = {trainer(TrainerKind::megatron, 16, {.tp = 4, .pp = 2, .cp = 2}),
                           trainer(TrainerKind::megatron, 8, {.tp = 4}), trainer(TrainerKind::fsdp2, 8),
                           trainer(TrainerKind::deepspeed, 3), trainer(TrainerKind::deepspeed, 4)};
  jobs[3].train.zero_stage = 1;
  jobs[4].train.zero_stage = 3;
  for (Job& job : jobs) {
    job.model = test::model("qwen2.5-0.5b");  // tied embeddings
    if (job.train.parallel.tp == 4) job.train.parallel.tp = 2;
  }
  for (Job const& writer : jobs) {
    for (Job const& reader : jobs) EXPECT_GT(checkpoint_load(writer, reader).saved.total().value, 0);
  }
}

TEST(CheckpointLoad, TheSameLayoutReadsItsOwn) {
  Job const job = trainer(TrainerKind::fsdp2, 8);
  CheckpointLoad const load = checkpoint_load(job, job);
  for (RankRead const& r : load.ranks) EXPECT_EQ(r.shards, 1);
  EXPECT_DOUBLE_EQ(read_bytes(load).total().value, load.saved.total().value);
  EXPECT_DOUBLE_EQ(load_size(load).of_rank.value, loaded_bytes(job, 0).value);
  EXPECT_DOUBLE_EQ(load_size(load).of_all.value, checkpoint_bytes(job).value);
}

// Sixteen ranks on two nodes to eight on one: half of it lay with the other node.
TEST(CheckpointLoad, BytesOfAnotherNode) {
  CheckpointLoad const load =
      checkpoint_load(trainer(TrainerKind::fsdp2, 16), trainer(TrainerKind::fsdp2, 8));
  Bytes other;
  for (RankRead const& r : load.ranks) other += r.other_node;
  EXPECT_DOUBLE_EQ(other.value, load.saved.total().value / 2);
}

TEST(CheckpointLoad, AGatheredOneIsReadByTheFirstRank) {
  Job writer = trainer(TrainerKind::fsdp2, 4);
  writer.checkpoint.format = CheckpointFormat::gathered;
  writer.checkpoint.optimizer = false;
  CheckpointLoad const load = checkpoint_load(writer, trainer(TrainerKind::fsdp2, 8));
  EXPECT_DOUBLE_EQ(load.ranks[0].bytes.weights.value, kParameters * 4);
  EXPECT_DOUBLE_EQ(read_bytes(load).total().value, kParameters * 4);
  EXPECT_EQ(load.ranks[0].shards, 1);
  EXPECT_EQ(load.ranks[7].shards, 0);
  EXPECT_TRUE(load_size(load).gathered);
}

TEST(CheckpointLoad, AnotherModelIsTold) {
  Job const job = trainer(TrainerKind::fsdp2, 4);
  EXPECT_EQ(models_differ(job, trainer(TrainerKind::megatron, 8)), "");
  Job other = job;
  other.model = test::model("qwen2.5-7b");
  EXPECT_EQ(models_differ(job, other),
            "the checkpoint is of llama-3.1-8b, and what resumes is qwen2.5-7b: "
            "layers.0.input_layernorm.weight of 4096 x 1 there, layers.0.input_layernorm.weight of 3584 x 1 "
            "here");
  EXPECT_THROW(checkpoint_load(job, other), std::logic_error);
}

// The factors alone: rank 8 on q (4096 x 4096) of 32 layers.
TEST(CheckpointLoad, AnAdapterIsReadByThatAdapter) {
  Job job = trainer(TrainerKind::fsdp2, 4);
  Job const whole = job;
  job.algorithm.adapter = Adapter{};
  job.algorithm.adapter->rank = 8;
  job.algorithm.adapter->targets = {"q"};
  CheckpointLoad const load = checkpoint_load(job, job);
  EXPECT_DOUBLE_EQ(load.saved.total().value, checkpoint_bytes(job).value);
  EXPECT_NE(models_differ(job, whole), "");
}

}  // namespace
}  // namespace rollcast
