#include "models/pcie_ring.hpp"

#include <gtest/gtest.h>

#include "models/catalog/catalog.hpp"
#include "models/nccl.hpp"

namespace rollcast {
namespace {

// Eight GPUs, four to a switch, two NUMA nodes of 160 GB/s.
Node host() {
  Node n;
  n.gpus = 8;
  n.gpus_per_pcie_switch = 4;
  n.numa_nodes = 2;
  n.host_memory_bandwidth = GB_per_s(160);
  n.peer_access = false;
  return n;
}

// Port 24 GB/s: two ranks share the switch's upstream port (12), four a quarter (6), and so do eight. A wide
// port of 100: two ranks 50 against 160 / (2 x 2) = 40 of the memory; four 25 against 20.
TEST(PcieRing, GoesThroughTheHostWithoutPeerAccess) {
  Node const n = host();
  EXPECT_DOUBLE_EQ(pcie_ring_speed(n, 2, GB_per_s(24)).value, 12e9);
  EXPECT_DOUBLE_EQ(pcie_ring_speed(n, 4, GB_per_s(24)).value, 6e9);
  EXPECT_DOUBLE_EQ(pcie_ring_speed(n, 8, GB_per_s(24)).value, 6e9);
  EXPECT_DOUBLE_EQ(pcie_ring_speed(n, 2, GB_per_s(100)).value, 40e9);
  EXPECT_DOUBLE_EQ(pcie_ring_speed(n, 8, GB_per_s(100)).value, 20e9);
}

TEST(PcieRing, IsThePortWithPeerAccess) {
  Node n = host();
  n.peer_access = true;
  EXPECT_DOUBLE_EQ(pcie_ring_speed(n, 8, GB_per_s(24)).value, 24e9);
  n.peer_access = false;
  EXPECT_DOUBLE_EQ(pcie_ring_speed(n, 1, GB_per_s(24)).value, 24e9) << "no ring";
}

// 8 x RTX 4090, four to a switch: 32 x 0.75 / 4 = 6 GB/s; two of them 12.
TEST(PcieRing, IsWhatNcclGetsOfGeForceCards) {
  ClusterSpec c;
  c.node = *find_node(builtin_catalog(), "pcie-4090");
  EXPECT_DOUBLE_EQ(nccl_topology(c, {8, 1, 1}).intra.value, 6e9);
  EXPECT_DOUBLE_EQ(nccl_topology(c, {2, 1, 1}).intra.value, 12e9);
}

}  // namespace
}  // namespace rollcast
