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
  EXPECT_DOUBLE_EQ(up(c.network.nic[3]), 18e9);
  EXPECT_DOUBLE_EQ(c.capacity[std::size_t(c.numa_memory[1])].value, 200e9);
}

// Rail-optimized, 4 nodes to a leaf, 2:1: a leaf has 4 NICs of 40 GB/s below, so 80 GB/s above.
TEST(Cluster, OversubscriptionNarrowsTheUplinks) {
  ClusterSpec spec = cluster_spec(8);
  spec.fabric.nodes_per_leaf = 4;
  Cluster const flat = build_cluster(spec, profile_of_ones());
  EXPECT_FALSE(flat.is_constraint[std::size_t(flat.network.leaf_uplink[0].up)]);
  spec.fabric.oversubscription = 2;
  Cluster const narrow = build_cluster(spec, profile_of_ones());
  EXPECT_TRUE(narrow.is_constraint[std::size_t(narrow.network.leaf_uplink[0].up)]);
  EXPECT_DOUBLE_EQ(narrow.capacity[std::size_t(narrow.network.leaf_uplink[0].up)].value, 80e9);
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

// For traffic to other pools: 8 rails, a leaf each.
TEST(Cluster, OneNodeHangsOnItsFabricToo) {
  auto const n = vertex_counts(build_cluster(cluster_spec(1), profile_of_ones()));
  EXPECT_EQ(n.at(VertexKind::leaf), 8);
  EXPECT_EQ(n.at(VertexKind::spine), 1);
  ClusterSpec without = cluster_spec(1);
  without.node.nics = 0;
  EXPECT_EQ(vertex_counts(build_cluster(without, profile_of_ones())).count(VertexKind::leaf), 0u);
}

// 16 NICs for 8 GPUs: GPU 11 is number 3 of node 1, whose NICs are 16 + 6 and 16 + 7. 12 for 8: GPUs have one
// and two in turn (0, 1-2, 3, 4-5, ...).
TEST(Cluster, KnowsSeveralNicsOfAGpu) {
  ClusterSpec spec = cluster_spec(2);
  spec.node.nics = 16;
  Cluster const c = build_cluster(spec, profile_of_ones());
  EXPECT_EQ(c.nic_of(11), 22);
  EXPECT_EQ(c.nics_of(11), 2);
  spec.node.nics = 12;
  Cluster const uneven = build_cluster(spec, profile_of_ones());
  EXPECT_EQ(uneven.nics_of(2), 1);
  EXPECT_EQ(uneven.nics_of(3), 2);
  EXPECT_EQ(uneven.nic_of(3), 4);
  spec.node.nics = 2;
  EXPECT_EQ(build_cluster(spec, profile_of_ones()).nics_of(3), 1);
}

// One NIC of a node with 4 switches and 2 NUMA nodes hangs on switch 0; the upstream port of a switch is one
// PCIe port for both its GPUs.
TEST(Cluster, PutsCardsOnSwitches) {
  ClusterSpec spec = cluster_spec(2);
  spec.node.nics = 1;
  Cluster const c = build_cluster(spec, profile_of_ones());
  EXPECT_EQ(c.switch_of_nic(1), 4);
  EXPECT_EQ(c.numa_of_switch(6), 3);
  EXPECT_DOUBLE_EQ(c.capacity[std::size_t(c.switch_upstream[6].up)].value, 50e9);
  spec.node.nic_slot = GB_per_s(60);
  Cluster const wide = build_cluster(spec, profile_of_ones());
  EXPECT_DOUBLE_EQ(wide.capacity[std::size_t(wide.nic_pcie[0].up)].value, 60e9);
  EXPECT_DOUBLE_EQ(wide.capacity[std::size_t(wide.gpu_pcie[0].up)].value, 50e9);
}

// 8 GPUs in 4 trays of 2 NUMA nodes: sockets are joined 0-1, 2-3, 4-5, 6-7, and each tray has a quarter of
// the drives on its first NUMA node.
TEST(Cluster, TraysAreHostsOfTheirOwn) {
  ClusterSpec spec = cluster_spec(2);
  spec.node.gpus_per_pcie_switch = 1;
  spec.node.trays = 4;
  spec.node.numa_nodes = 8;
  spec.node.nvme_read = GB_per_s(40);
  spec.node.nvme_write = GB_per_s(20);
  Cluster const c = build_cluster(spec, profile_of_ones());
  ASSERT_EQ(c.socket.size(), 16u);
  for (std::size_t n = 0; n < 16; ++n) EXPECT_EQ(c.socket[n].up >= 0, n % 2 == 0) << n;
  ASSERT_EQ(c.drives.size(), 8u);
  EXPECT_DOUBLE_EQ(c.capacity[std::size_t(c.drives[5].up)].value, 5e9);
  EXPECT_DOUBLE_EQ(c.capacity[std::size_t(c.drives[5].down)].value, 10e9);
  EXPECT_EQ(c.host_of(13), 6);
  EXPECT_EQ(c.numa_of_drives(6), 12);
  EXPECT_EQ(c.numa_of(13), 13);
}

// Two storage NICs of 20 GB/s, one per NUMA node, on a second network of 25 GB/s with 3 nodes to a leaf: 8
// nodes hang on 3 leaves (a fat tree), the file system behind their spine.
TEST(Cluster, ASecondNetworkLeadsToTheFileSystem) {
  ClusterSpec spec = with_storage(cluster_spec(8));
  spec.storage_fabric->nodes_per_leaf = 3;
  spec.storage_fabric->rail_optimized = false;
  Cluster const c = build_cluster(spec, profile_of_ones());
  auto const n = vertex_counts(c);
  EXPECT_EQ(n.at(VertexKind::storage_nic), 16);
  EXPECT_EQ(n.at(VertexKind::storage_leaf), 3);
  EXPECT_EQ(n.at(VertexKind::storage_spine), 1);
  EXPECT_EQ(n.at(VertexKind::file_system), 1);
  EXPECT_DOUBLE_EQ(c.capacity[std::size_t(c.storage_network.nic[3].up)].value, 20e9);
  EXPECT_DOUBLE_EQ(c.capacity[std::size_t(c.file_system.up)].value, 60e9);
  EXPECT_DOUBLE_EQ(c.capacity[std::size_t(c.file_system.down)].value, 90e9);
  EXPECT_EQ(c.storage_nic_of(13), 3);
  EXPECT_EQ(c.numa_of_storage_nic(3), 3);
  spec.storage_fabric.reset();
  Cluster const one = build_cluster(spec, profile_of_ones());
  EXPECT_EQ(vertex_counts(one).count(VertexKind::storage_leaf), 0u);
  EXPECT_GE(one.file_system.up, 0) << "behind the first network";
}

}  // namespace
}  // namespace rollcast
