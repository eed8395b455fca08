#include "reports/memory_guard.hpp"

#include <gtest/gtest.h>

#include "sim/event_log.hpp"

namespace rollcast {
namespace {

Job small_job() {
  Job job;
  job.cluster.nodes = 2;
  job.cluster.node.gpus = 8;
  job.model.layers = 10;
  job.model.hidden = 1024;
  job.train.bucket = bytes(12.0 * 1024 * 1024 * 4);  // one layer a bucket
  job.train.parallel.pp = 2;
  job.framework.order = {Phase::generate, Phase::update_actor};
  job.algorithm.prompts = 4;
  job.algorithm.group_size = 8;
  job.algorithm.train_batch = 16;
  return job;
}

TEST(MemoryGuard, EstimateIsItsFormula) {
  // 16 GPUs, 2 phases, 10 buckets, 2 updates, 32 samples on replicas of 2 ranks:
  // spans 16 x (8 + 20) + 32 x 2 x 8 = 960; counters 32 x 12 + 16 x 16 x 2 = 896.
  double const log = 960 * sizeof(Span) + 896 * sizeof(Counter);
  double const fixed = 64.0 * 1024 * 1024 + 16 * 4096 + 32 * 512;
  EXPECT_DOUBLE_EQ(estimate_memory(small_job(), 1).value, fixed + 6 * log);
  EXPECT_DOUBLE_EQ(estimate_memory(small_job(), 5).value, fixed + 30 * log);
}

// 16 GPUs in replicas of two stages of 4 ranks, engines of 8: 16 / 4 + 16 / 8 = 6 classes; of a replica at
// most 4 / 8 + 1 for each of its 2 stages, 3. Spans 6 x (8 + 20) + 32 x 3 x 8 = 936, counters 384 + 6 x 32.
TEST(MemoryGuard, RanksOfOneStageAndEngineAreOne) {
  Job job = small_job();
  job.train.parallel.tp = 4;
  job.rollout.parallel.tp = 8;
  double const fixed = 64.0 * 1024 * 1024 + 16 * 4096 + 32 * 512;
  EXPECT_DOUBLE_EQ(estimate_memory(job, 1).value, fixed + 6 * (936 * sizeof(Span) + 576 * sizeof(Counter)));
}

// 1,000 requests, 30 adapters in each of 16 engines.
TEST(MemoryGuard, CountsRequestsAndAdapters) {
  Job job = small_job();
  double const before = estimate_memory(job, 1).value;
  job.serve.emplace();
  job.serve->requests = 1000;
  job.serve->adapters.count = 30;
  EXPECT_DOUBLE_EQ(estimate_memory(job, 1).value, before + 1000 * 512 + 30 * 16 * 320);
  job.serve->arrivals.trace.resize(2000);
  EXPECT_DOUBLE_EQ(estimate_memory(job, 1).value, before + 2000 * 512 + 30 * 16 * 320);
}

TEST(MemoryGuard, HugeScenariosDoNotOverflow) {
  Job job = small_job();
  job.cluster.nodes = 2'000'000'000;
  job.algorithm.prompts = 2'000'000'000;
  job.algorithm.group_size = 2'000'000'000;
  EXPECT_GT(estimate_memory(job, 100'000).value, 1e20);
}

TEST(MemoryGuard, FreeMemoryIsPlausible) {
  auto const free = free_memory();
  if (!free) GTEST_SKIP() << "no /proc/meminfo here";
  EXPECT_GT(free->value, MiB(1).value);
  EXPECT_LT(free->value, 1e16);
}

}  // namespace
}  // namespace rollcast
