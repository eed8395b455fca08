// The blocks `checkpoint` and `reliability`.
#include <gtest/gtest.h>

#include "tests/scenarios/example.hpp"

namespace rollcast {
namespace {

TEST(Reliability, IsThereWhereItIsWritten) {
  EXPECT_FALSE(read_example().scenario->job.reliability.has_value());
  ScenarioResult const r =
      read_example({"reliability={mtbf_per_gpu: 50000 h, relaunch: 5 min, detection: 30 s, spares: 2, "
                    "replacement: 24 h, days: 7}",
                    "checkpoint={every: 20, mode: async, format: gathered, shared_bandwidth: 40 GB/s}"});
  ASSERT_TRUE(r.scenario.has_value()) << format(r.problems);
  ReliabilityOptions const& o = *r.scenario->job.reliability;
  EXPECT_DOUBLE_EQ(o.mtbf_per_gpu.value, 50'000 * 3600.0);
  EXPECT_DOUBLE_EQ(o.relaunch.value, 300);
  EXPECT_DOUBLE_EQ(o.detection.value, 30);
  EXPECT_EQ(o.spares, 2);
  EXPECT_DOUBLE_EQ(o.replacement.value, 86'400);
  EXPECT_DOUBLE_EQ(o.days, 7);
  CheckpointOptions const& c = r.scenario->job.checkpoint;
  EXPECT_EQ(c.mode, CheckpointMode::async);
  EXPECT_EQ(c.format, CheckpointFormat::gathered);
  EXPECT_EQ(c.storage, CheckpointStorage::shared);
  EXPECT_DOUBLE_EQ(c.shared_bandwidth.value, 40e9);
}

TEST(Reliability, NeedsTheTimeOfARelaunch) {
  EXPECT_NE(problem_of(read_example({"reliability={days: 7}"}), "reliability.relaunch")
                .remedy.find("relaunch: 5 min"),
            std::string::npos);
}

TEST(Reliability, NeedsStorageThatOutlivesANode) {
  std::string const reliable = "reliability={relaunch: 5 min}";
  EXPECT_TRUE(read_example({"checkpoint.storage=local"}).scenario.has_value());
  EXPECT_EQ(problem_of(read_example({"checkpoint.storage=local", reliable}), "checkpoint.storage").what,
            "a node that fails takes its part of the checkpoint with it");
  EXPECT_EQ(problem_of(read_example({"checkpoint={storage: local, shared_bandwidth: 1 GB/s}"}),
                       "checkpoint.shared_bandwidth")
                .what,
            "the storage is each node's own");
}

TEST(Reliability, SparesNeedAWait) {
  EXPECT_EQ(problem_of(read_example({"reliability={relaunch: 5 min, spares: 1}"}), "reliability.spares").what,
            "no node is waited for");
}

// 16 GPUs of 1 h each, 60 days: 60 x 24 x 16 = 23,040 failures.
TEST(Reliability, FailuresMustBeFewEnoughToSimulate) {
  EXPECT_EQ(problem_of(read_example({"reliability={relaunch: 5 min, mtbf_per_gpu: 1 h, days: 60}"}),
                       "reliability.days")
                .what,
            "the 16 GPUs fail 2.3e+04 times in 60 days, 20000 are the most");
}

}  // namespace
}  // namespace rollcast
