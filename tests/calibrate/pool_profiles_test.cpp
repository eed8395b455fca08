// The profiles of a job's pools.
#include <gtest/gtest.h>

#include "calibrate/profiles.hpp"
#include "models/catalog/catalog.hpp"

namespace rollcast {
namespace {

ClusterSpec cluster_of(std::string const& node) {
  ClusterSpec c;
  c.node = *find_node(builtin_catalog(), node);
  c.nodes = 1;
  return c;
}

TEST(PoolProfiles, EachIsOfItsCard) {
  Job job;
  job.cluster = cluster_of("hgx-h100");
  ASSERT_EQ(profiles_for(job).size(), 1U);
  job.pools = {{"train", cluster_of("hgx-a100"), false}, {"rollout", cluster_of("pcie-l40s"), false}};
  auto const profiles = profiles_for(job);
  ASSERT_EQ(profiles.size(), 2U);
  EXPECT_EQ(profiles[0].gpu.name, "a100-sxm-80gb");
  EXPECT_EQ(profiles[0].note.basis, PriceBasis::measured);
  EXPECT_EQ(profiles[1].gpu.name, "l40s");
  EXPECT_EQ(profiles[1].note.basis, PriceBasis::derived);
}

// The same as of a cluster of that card alone.
TEST(PoolProfiles, TheEngineChoosesTheStack) {
  for (EngineKind const engine : {EngineKind::vllm, EngineKind::sglang, EngineKind::trtllm}) {
    Job job;
    job.rollout.kind = engine;
    job.pools = {{"train", cluster_of("hgx-h100"), false}, {"rollout", cluster_of("hgx-h200"), false}};
    auto const profiles = profiles_for(job);
    ASSERT_EQ(profiles.size(), 2U);
    for (std::size_t i = 0; i < 2; ++i) {
      Profile const alone = profile_for(job.pools[i].cluster.node.gpu, name_of(engine));
      EXPECT_EQ(profiles[i].name, alone.name);
      EXPECT_EQ(profiles[i].note.stack, alone.note.stack);
    }
  }
}

}  // namespace
}  // namespace rollcast
