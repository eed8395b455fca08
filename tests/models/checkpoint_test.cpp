#include "models/checkpoint.hpp"

#include <gtest/gtest.h>

#include "models/switching.hpp"
#include "tests/models/ledger_jobs.hpp"
#include "tests/models/price_fixtures.hpp"

namespace rollcast {
namespace {

// 8,030,261,248 parameters over eight ranks, each byte once: fp32 parameters and two states under FSDP2; bf16
// weights, fp32 masters and two states of DeepSpeed, cut or not.
TEST(Checkpoint, EveryByteIsSavedOnce) {
  Job job = test::plain_job(test::model("llama-3.1-8b"), AlgorithmKind::sft, 8);
  double const each = 8'030'261'248.0 / 8;
  job.train.zero_stage = 1;
  EXPECT_DOUBLE_EQ(checkpoint_bytes(job, 0).value, (2 + 4 + 8) * each);
  job.checkpoint.optimizer = false;
  EXPECT_DOUBLE_EQ(checkpoint_bytes(job, 0).value, 2 * each);
  job.train.kind = TrainerKind::fsdp2;
  job.train.zero_stage = 3;
  EXPECT_DOUBLE_EQ(checkpoint_bytes(job, 0).value, 4 * each);
  job.checkpoint.optimizer = true;
  EXPECT_DOUBLE_EQ(checkpoint_bytes(job, 0).value, (4 + 8) * each);
}

// Optimizer states that were offloaded for the rollout are still on the host when the step ends with a wake.
TEST(Checkpoint, HostHoldsWhatTheStepEndsWith) {
  Job job = test::colocated_grpo();
  job.checkpoint.every = 1;
  RankLedger const l = memory_ledger(job).front();
  Bytes const states = test::sum(l, MemoryCategory::optimizer_states, true);
  EXPECT_GT(states.value, 0);
  EXPECT_NEAR(total(l, Phase::checkpoint, true).value,
              total(l, Phase::wake, true).value + checkpoint_bytes(job, 0).value, 1);
}

// An asynchronous copy stays through the next step, from the first one on; a gathered one is all on the first
// rank, told as a share of the eight ranks of its node.
TEST(Checkpoint, AsynchronousCopiesStay) {
  Job job = test::colocated_grpo();
  job.checkpoint.every = 1;
  auto const serialized = [](RankLedger const& l, Phase phase) {
    Bytes sum;
    for (LedgerLine const& line : l.lines) {
      if (line.name == "serialized checkpoint" && is_present(line, phase)) sum += line.bytes;
    }
    return sum.value;
  };
  RankLedger const sync = memory_ledger(job).front();
  EXPECT_DOUBLE_EQ(serialized(sync, Phase::checkpoint), checkpoint_bytes(job, 0).value);
  EXPECT_DOUBLE_EQ(serialized(sync, Phase::generate), 0);
  job.checkpoint.mode = CheckpointMode::async;
  job.checkpoint.copies = 2;
  RankLedger const async = memory_ledger(job).front();
  EXPECT_DOUBLE_EQ(serialized(async, Phase::generate), 2 * checkpoint_bytes(job, 0).value);
  job.checkpoint.copies = 1;
  job.checkpoint.format = CheckpointFormat::gathered;
  auto const gathered = memory_ledger(job);
  EXPECT_DOUBLE_EQ(serialized(gathered.front(), Phase::checkpoint), checkpoint_bytes(job).value / 8);
  EXPECT_DOUBLE_EQ(serialized(gathered.back(), Phase::checkpoint), 0);
}

// Llama-3.1-8B on two nodes of eight: 14 B x 8,030,261,248 = 112.42 GB, 56.21 GB a node. At 2 GB/s of a
// node 28.1 s; at 1 GB/s of the storage in all 112.4 s; at 100 GB/s the nodes' links tell. The first rank
// alone: 56.2 s.
TEST(Checkpoint, WritesAtTheNarrowerOfLinkAndStorage) {
  Profile const profile = round_profile();
  Job job = llama_job(2);
  CollectivePrices prices(profile, job.cluster);
  double const all = 14 * 8'030'261'248.0;
  EXPECT_DOUBLE_EQ(checkpoint_bytes(job).value, all);
  auto const write = [&] { return checkpoint_time(profile, prices, job).write.value; };
  EXPECT_NEAR(write(), all / 2 / 2e9, 1e-6);
  job.checkpoint.shared_bandwidth = GB_per_s(1);
  EXPECT_NEAR(write(), all / 1e9, 1e-6);
  job.checkpoint.shared_bandwidth = GB_per_s(100);
  EXPECT_NEAR(write(), all / 2 / 2e9, 1e-6);
  EXPECT_DOUBLE_EQ(checkpoint_time(profile, prices, job).gather.value, 0);
  job.checkpoint.format = CheckpointFormat::gathered;
  EXPECT_NEAR(write(), all / 2e9, 1e-6);
  EXPECT_GT(checkpoint_time(profile, prices, job).gather.value, 0);
}

// Training waits for all of a synchronous checkpoint, for the copy of an asynchronous one, which goes through
// pinned memory and so takes 1 / 4.5 of the time.
TEST(Checkpoint, AsynchronousOnesBlockForTheCopy) {
  Profile const profile = round_profile();
  Job job = llama_job(2);
  CollectivePrices prices(profile, job.cluster);
  CheckpointTime const sync = checkpoint_time(profile, prices, job);
  EXPECT_DOUBLE_EQ(blocking_time(sync, CheckpointMode::sync).value, (sync.copy + sync.write).value);
  job.checkpoint.mode = CheckpointMode::async;
  CheckpointTime const async = checkpoint_time(profile, prices, job);
  EXPECT_DOUBLE_EQ(async.copy.value, sync.copy.value / 4.5);
  EXPECT_DOUBLE_EQ(blocking_time(async, CheckpointMode::async).value, async.copy.value);
  EXPECT_DOUBLE_EQ(async.write.value, sync.write.value);
}

// With a distributed optimizer a rank reads the weights, 2 B, whole and its sixteenth of 12 B: 22.08 GB, a
// node 176.7 GB at 2 GB/s. Under FSDP2 its sixteenth of 12 B alone: 48.2 GB a node. The copy to the GPU comes
// after it.
TEST(Checkpoint, LoadsWhatTheLayoutHolds) {
  Profile const profile = round_profile();
  Job job = llama_job(2);
  CollectivePrices prices(profile, job.cluster);
  double const n = 8'030'261'248.0;
  auto const copy = [&](double of_rank) {
    HostCopy const to_gpu{Direction::host_to_device, Bytes(of_rank), "", false};
    return shared_copy_time(profile, job.cluster.node, to_gpu).value;
  };
  job.train.distributed_optimizer = true;
  double const megatron = n * (2 + 12 / 16.0);
  EXPECT_NEAR(load_time(profile, prices, job).value, 8 * megatron / 2e9 + copy(megatron), 1e-6);
  job.train.kind = TrainerKind::fsdp2;
  EXPECT_NEAR(load_time(profile, prices, job).value, 8 * n * 12 / 16 / 2e9 + copy(n * 12 / 16), 1e-6);
  job.checkpoint.format = CheckpointFormat::gathered;
  EXPECT_GT(load_time(profile, prices, job).value, n * 12 / 2e9);
}

}  // namespace
}  // namespace rollcast
