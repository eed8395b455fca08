#include "sim/placement.hpp"

#include <gtest/gtest.h>

#include <set>

namespace rollcast {
namespace {

Job job_on(int nodes, int gpus_per_node, Parallel train, Parallel rollout) {
  Job job;
  job.cluster.nodes = nodes;
  job.cluster.node.gpus = gpus_per_node;
  job.train.parallel = train;
  job.rollout.parallel = rollout;
  return job;
}

// 16 ranks, pp 2, tp 1: 8 replicas; stage 0 of replica r is rank r, stage 1 is rank 8 + r. Engines of one
// rank each: no two ranks share stage, replica and engine.
TEST(Placement, PipelineStagesAreOutermost) {
  Placement const p = place(job_on(2, 8, {.pp = 2}, {}));
  ASSERT_EQ(p.classes.size(), 16u);
  for (int r = 0; r < 8; ++r) {
    auto const& stages = p.classes_of_stage[static_cast<std::size_t>(r)];
    EXPECT_EQ(p.classes[static_cast<std::size_t>(stages[0].front())].ranks, std::vector<int>{r});
    EXPECT_EQ(p.classes[static_cast<std::size_t>(stages[1].front())].ranks, std::vector<int>{8 + r});
    EXPECT_EQ(p.classes[static_cast<std::size_t>(stages[1].front())].node, 1);
  }
}

// 16 ranks, tp 4, engines of 4: ranks 0-3 are one replica's only stage and one engine, so four classes of
// four ranks.
TEST(Placement, RanksWithTheSameProgramShareAClass) {
  Placement const p = place(job_on(2, 8, {.tp = 4}, {.tp = 4}));
  ASSERT_EQ(p.classes.size(), 4u);
  EXPECT_EQ(p.classes[1].ranks, (std::vector<int>{4, 5, 6, 7}));
  EXPECT_EQ(p.classes[1].name, "ranks 4-7");
}

// tp 4 in training, engines of 2: each replica's ranks split into two classes, one per engine.
TEST(Placement, EnginesSplitClasses) {
  Placement const p = place(job_on(1, 8, {.tp = 4}, {.tp = 2}));
  ASSERT_EQ(p.classes.size(), 4u);
  EXPECT_EQ(p.classes_of_stage[0][0].size(), 2u);
  EXPECT_EQ(p.classes_of_engine.size(), 4u);
}

TEST(Placement, EveryRankIsInExactlyOneClass) {
  for (Parallel const train :
       {Parallel{.tp = 2, .pp = 2, .cp = 2}, Parallel{.tp = 8, .pp = 4}, Parallel{.cp = 4}}) {
    for (int engine : {1, 2, 8}) {
      Job const job = job_on(4, 8, train, {.tp = engine});
      std::set<int> seen;
      std::size_t count = 0;
      for (RankClassInfo const& c : place(job).classes) {
        seen.insert(c.ranks.begin(), c.ranks.end());
        count += c.ranks.size();
      }
      EXPECT_EQ(seen.size(), 32u);
      EXPECT_EQ(count, 32u);
    }
  }
}

// 16 ranks, tp 2, pp 2, cp 2: 2 replicas. Within stage 1 (ranks 8-15) tensor-parallel position 0 holds the
// even ranks.
TEST(Placement, GradientGroupsCrossReplicasAndContextParallelRanks) {
  Job const job = job_on(2, 8, {.tp = 2, .pp = 2, .cp = 2}, {});
  auto const groups = gradient_groups(job, 1);
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0], (std::vector<int>{8, 10, 12, 14}));
  EXPECT_EQ(groups[1], (std::vector<int>{9, 11, 13, 15}));
  EXPECT_EQ(nodes_of(job, groups[0]), 1);
  EXPECT_EQ(nodes_of(job, {7, 8}), 2);
}

// The same stage with whole experts over four ranks, two copies of them: ranks 8-11 and 12-15.
TEST(Placement, ExpertGradientGroupsLieABlockApart) {
  Job const job = job_on(2, 8, {.tp = 2, .pp = 2, .cp = 2, .ep = 4, .etp = 1}, {});
  auto const groups = expert_gradient_groups(job, 1);
  ASSERT_EQ(groups.size(), 4u);
  EXPECT_EQ(groups[0], (std::vector<int>{8, 12}));
  EXPECT_EQ(groups[3], (std::vector<int>{11, 15}));
}

}  // namespace
}  // namespace rollcast
