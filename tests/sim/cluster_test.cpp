#include "sim/cluster.hpp"

#include <gtest/gtest.h>

#include <array>
#include <map>

#include "tests/sim/cluster_fixtures.hpp"

namespace rollcast {
namespace {

std::map<VertexKind, int> vertex_counts(Cluster const& c) {
  std::map<VertexKind, int> out;
  for (auto [v, end] = boost::vertices(c.graph); v != end; ++v) ++out[c.graph[*v].kind];
  return out;
}

// Two nodes of 8 GPUs: 4 PCIe switches, 2 NUMA nodes, 8 NICs each; rail-optimized: a leaf per rail.
TEST(Cluster, HasAVertexForEachPart) {
  auto const n = vertex_counts(build_cluster(cluster_spec(2), profile_of_ones()));
  EXPECT_EQ(n, (std::map<VertexKind, int>{{VertexKind::gpu, 16},
                                          {VertexKind::nvswitch, 2},
                                          {VertexKind::pcie_switch, 8},
                                          {VertexKind::numa, 4},
                                          {VertexKind::nic, 16},
                                          {VertexKind::leaf, 8},
                                          {VertexKind::spine, 1}}));
}

// 70 nodes, 32 to a leaf: 3 pods. Rail-optimized 3 x 8 leaves, otherwise 3.
TEST(Cluster, LeavesFollowTheFabric) {
  ClusterSpec spec = cluster_spec(70);
  EXPECT_EQ(vertex_counts(build_cluster(spec, profile_of_ones()))[VertexKind::leaf], 24);
  spec.fabric.rail_optimized = false;
  EXPECT_EQ(vertex_counts(build_cluster(spec, profile_of_ones()))[VertexKind::leaf], 3);
}

TEST(Cluster, EveryCableHasTwoEqualDirections) {
  for (auto const kind : {Interconnect::nvswitch, Interconnect::nvlink_pairs, Interconnect::pcie}) {
    Cluster const c = build_cluster(cluster_spec(3, 8, kind), profile_of_ones());
    std::size_t edges = 0;
    for (auto [e, end] = boost::edges(c.graph); e != end; ++e, ++edges) {
      auto const back = boost::edge(boost::target(*e, c.graph), boost::source(*e, c.graph), c.graph);
      ASSERT_TRUE(back.second);
      auto const capacity = [&](auto edge) { return c.capacity[std::size_t(c.graph[edge].link)].value; };
      EXPECT_DOUBLE_EQ(capacity(*e), capacity(back.first));
    }
    EXPECT_EQ(edges, c.capacity.size());
    EXPECT_EQ(edges, c.is_constraint.size());
  }
}

// Shares of the profile scale capacities; the NIC is the smaller of the node's and the fabric's.
TEST(Cluster, CapacitiesAreWhatTheProfileAchieves) {
  ClusterSpec spec = cluster_spec(2);
  spec.fabric.nic = GB_per_s(20);
  Profile p = profile_of_ones();
  p.nvlink.value = 0.5;
  p.pcie.value = 0.8;
  p.network.value = 0.9;
  Cluster const c = build_cluster(spec, p);
  auto const up = [&](Cable cable) { return c.capacity[std::size_t(cable.up)].value; };
  EXPECT_DOUBLE_EQ(up(c.gpu_nvlink[3]), 200e9);
  EXPECT_DOUBLE_EQ(up(c.gpu_pcie[3]), 40e9);
  EXPECT_DOUBLE_EQ(up(c.nic_network[3]), 18e9);
  EXPECT_DOUBLE_EQ(c.capacity[std::size_t(c.numa_memory[1])].value, 200e9);
}

// Rail-optimized, 4 nodes to a leaf, 2:1: a leaf has 4 NICs of 40 GB/s below, so 80 GB/s above.
TEST(Cluster, OversubscriptionNarrowsTheUplinks) {
  ClusterSpec spec = cluster_spec(8);
  spec.fabric.nodes_per_leaf = 4;
  Cluster const flat = build_cluster(spec, profile_of_ones());
  EXPECT_FALSE(flat.is_constraint[std::size_t(flat.leaf_uplink[0].up)]);
  spec.fabric.oversubscription = 2;
  Cluster const narrow = build_cluster(spec, profile_of_ones());
  EXPECT_TRUE(narrow.is_constraint[std::size_t(narrow.leaf_uplink[0].up)]);
  EXPECT_DOUBLE_EQ(narrow.capacity[std::size_t(narrow.leaf_uplink[0].up)].value, 80e9);
}

TEST(Cluster, KnowsTheNeighboursOfAGpu) {
  ClusterSpec spec = cluster_spec(2);
  spec.node.nics = 4;
  Cluster const c = build_cluster(spec, profile_of_ones());
  // GPU 13 is number 5 of node 1: PCIe switch 2 of 4, NIC 2 of 4, NUMA node 1 of 2.
  EXPECT_EQ(c.node_of(13), 1);
  EXPECT_EQ(c.switch_of(13), 6);
  EXPECT_EQ(c.nic_of(13), 6);
  EXPECT_EQ(c.numa_of(13), 3);
}

TEST(Cluster, OneNodeHasNoFabric) {
  auto const n = vertex_counts(build_cluster(cluster_spec(1), profile_of_ones()));
  EXPECT_EQ(n.count(VertexKind::leaf), 0u);
  EXPECT_EQ(n.count(VertexKind::spine), 0u);
}

}  // namespace
}  // namespace rollcast
