#include "models/sync_gather.hpp"

#include <gtest/gtest.h>

#include "tests/models/ledger_jobs.hpp"

namespace rollcast {
namespace {

// Llama-3.1-8B, FSDP2 over eight ranks: 16.06 GB in bf16; fp32 shards of 4.0 GB.
TEST(SyncGather, WhatARankHoldsOfTheModel) {
  Job job = test::plain_job(test::model("llama-3.1-8b"), AlgorithmKind::grpo, 8);
  job.train.kind = TrainerKind::fsdp2;
  job.train.zero_stage = 3;
  auto const held = [&] { return gathered_for_sync(job, memory_ledger(job).front()).value; };
  EXPECT_DOUBLE_EQ(held(), 0);
  job.framework.sync_gather = SyncGather::whole;
  EXPECT_DOUBLE_EQ(held(), 2 * 8'030'261'248.0);
  job.framework.sync_gather = SyncGather::shards;
  EXPECT_DOUBLE_EQ(held(), 4 * 8'030'261'248.0 / 8);
  // Megatron at tp 8: an eighth of the weights, in bf16.
  Job cut = job;
  cut.train.kind = TrainerKind::megatron;
  cut.train.zero_stage = 0;
  cut.train.parallel.tp = 8;
  EXPECT_NEAR(gathered_for_sync(cut, memory_ledger(cut).front()).value, 2 * 8'030'261'248.0 / 8, 1e6);
  job.framework.sync_gathered = GB(27);
  EXPECT_DOUBLE_EQ(held(), 27e9);
}

// NeMo-RL pull request 3356: 129,280 x 7,168 x 2 B = 1,853,358,080 B do not go into half of 3,542,522,264 B,
// 1,771,261,132 B; they do into half of twice their size.
TEST(SyncGather, ATensorMustFitIntoHalfOfTheRefitBuffer) {
  Job job = test::plain_job(test::model("deepseek-v3"), AlgorithmKind::grpo, 8);
  RankLedger l;
  LedgerLine buffer;
  buffer.name = kRefitBuffer;
  buffer.bytes = bytes(3'542'522'264);
  l.lines = {buffer};
  EXPECT_FALSE(too_large_for_refit(job, l));
  job.framework.refit_whole_tensors = true;
  auto const tensor = too_large_for_refit(job, l);
  ASSERT_TRUE(tensor);
  EXPECT_EQ(tensor->tensor, "embed_tokens.weight");
  EXPECT_DOUBLE_EQ(tensor->bytes.value, 1'853'358'080);
  EXPECT_DOUBLE_EQ(tensor->half.value, 1'771'261'132);
  l.lines[0].bytes = bytes(2 * 1'853'358'080.0);
  EXPECT_FALSE(too_large_for_refit(job, l));
}

}  // namespace
}  // namespace rollcast
