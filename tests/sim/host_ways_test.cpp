// Ways through the host: cards without peer access, NICs elsewhere, TCP, several NICs, other pools.
#include <gtest/gtest.h>

#include "sim/crossings.hpp"
#include "tests/sim/cluster_fixtures.hpp"

namespace rollcast {
namespace {

// Expects exactly these links, each with its share.
void expect_crossings(Crossings const& found, std::vector<Crossing> const& expected) {
  EXPECT_EQ(found.size(), expected.size());
  for (Crossing const& e : expected) EXPECT_DOUBLE_EQ(share_on(found, e.link), e.share) << "link " << e.link;
}

ClusterSpec geforce(int nodes, int gpus = 8) {
  ClusterSpec spec = cluster_spec(nodes, gpus, Interconnect::pcie);
  spec.node.peer_access = false;
  spec.node.gpus_per_pcie_switch = 4;
  return spec;
}

// Behind one switch all the same: up, into memory, out of memory, down.
TEST(HostWays, WithoutPeerAccessGpusMeetInMemory) {
  Cluster const c = build_cluster(geforce(1), profile_of_ones());
  expect_crossings(transfer_crossings(c, 0, 1), {{c.gpu_pcie[0].up, 1},
                                                 {c.switch_upstream[0].up, 1},
                                                 {c.numa_memory[0], 2},
                                                 {c.switch_upstream[0].down, 1},
                                                 {c.gpu_pcie[1].down, 1}});
  expect_crossings(transfer_crossings(c, 6, 1), {{c.gpu_pcie[6].up, 1},
                                                 {c.switch_upstream[1].up, 1},
                                                 {c.numa_memory[1], 2},
                                                 {c.socket[0].down, 1},
                                                 {c.switch_upstream[0].down, 1},
                                                 {c.gpu_pcie[1].down, 1}});
}

// Ring 0-1-...-7-0: each switch port carries four steps up and four down, each memory four in and four out;
// the sockets one step each way.
TEST(HostWays, ARingWithoutPeerAccessLoadsTheHost) {
  Cluster const c = build_cluster(geforce(1), profile_of_ones());
  Crossings const ring = ring_crossings(c, {0, 1, 2, 3, 4, 5, 6, 7});
  EXPECT_EQ(ring.size(), 16u + 4u + 2u + 2u);
  for (std::size_t const s : {0u, 1u}) {
    EXPECT_DOUBLE_EQ(share_on(ring, c.switch_upstream[s].up), 4);
    EXPECT_DOUBLE_EQ(share_on(ring, c.switch_upstream[s].down), 4);
    EXPECT_DOUBLE_EQ(share_on(ring, c.numa_memory[s]), 8);
  }
  EXPECT_DOUBLE_EQ(share_on(ring, c.socket[0].up), 1);
  EXPECT_DOUBLE_EQ(share_on(ring, c.socket[0].down), 1);
}

// A bridge needs no peer access over PCIe.
TEST(HostWays, ABridgeStaysABridge) {
  ClusterSpec spec = geforce(1);
  spec.node.interconnect = Interconnect::nvlink_pairs;
  Cluster const c = build_cluster(spec, profile_of_ones());
  expect_crossings(transfer_crossings(c, 4, 5), {{c.gpu_nvlink[4].up, 1}});
  EXPECT_DOUBLE_EQ(share_on(transfer_crossings(c, 5, 6), c.numa_memory[1]), 2);
}

// Two NICs for eight GPUs on four switches: NIC 0 on switch 0, NIC 1 on switch 2. GPU 2 (switch 1) reaches
// NIC 0 over both upstream ports, GPU 1 under its own switch. A single NIC lies across the sockets for GPU 5.
TEST(HostWays, ANicElsewhereIsReachedThroughTheHost) {
  ClusterSpec spec = cluster_spec(2);
  spec.node.nics = 2;
  spec.fabric.oversubscription = 2;
  Cluster const c = build_cluster(spec, profile_of_ones());
  Cable const& nic = c.network.nic[0];
  expect_crossings(
      outside_crossings(c, 1, Heading::out),
      {{c.gpu_pcie[1].up, 1}, {c.nic_pcie[0].down, 1}, {nic.up, 1}, {c.network.leaf_uplink[0].up, 1}});
  expect_crossings(outside_crossings(c, 2, Heading::out), {{c.gpu_pcie[2].up, 1},
                                                           {c.switch_upstream[1].up, 1},
                                                           {c.switch_upstream[0].down, 1},
                                                           {c.nic_pcie[0].down, 1},
                                                           {nic.up, 1},
                                                           {c.network.leaf_uplink[0].up, 1}});
  spec.node.nics = 1;
  Cluster const one = build_cluster(spec, profile_of_ones());
  expect_crossings(outside_crossings(one, 5, Heading::in), {{one.network.leaf_uplink[0].down, 1},
                                                            {one.network.nic[0].down, 1},
                                                            {one.nic_pcie[0].up, 1},
                                                            {one.switch_upstream[0].up, 1},
                                                            {one.socket[0].up, 1},
                                                            {one.switch_upstream[2].down, 1},
                                                            {one.gpu_pcie[5].down, 1}});
}

// TCP: GPU 3 copies into the memory of its NUMA node and the NIC under the same switch sends from there: the
// upstream port up and down, the memory twice. GPUDirect-TCPXO goes as RDMA does.
TEST(HostWays, TcpSendsFromHostMemory) {
  ClusterSpec spec = cluster_spec(2);
  spec.fabric.kind = FabricKind::tcp;
  Cluster const direct = build_cluster(spec, profile_of_ones());
  EXPECT_EQ(transfer_crossings(direct, 3, 11).size(), 6u);
  spec.fabric.gpu_direct = false;
  Cluster const c = build_cluster(spec, profile_of_ones());
  expect_crossings(transfer_crossings(c, 3, 11), {{c.gpu_pcie[3].up, 1},
                                                  {c.switch_upstream[1].up, 1},
                                                  {c.numa_memory[0], 2},
                                                  {c.switch_upstream[1].down, 1},
                                                  {c.nic_pcie[3].down, 1},
                                                  {c.network.nic[3].up, 1},
                                                  {c.network.nic[11].down, 1},
                                                  {c.nic_pcie[11].up, 1},
                                                  {c.switch_upstream[5].up, 1},
                                                  {c.numa_memory[2], 2},
                                                  {c.switch_upstream[5].down, 1},
                                                  {c.gpu_pcie[11].down, 1}});
  EXPECT_EQ(ring_crossings(c, {0, 1, 2, 3}).size(), 8u) << "NVLink as ever";
}

// RDMA to a card without peer access: host memory, as for TCP.
TEST(HostWays, RdmaNeedsPeerAccess) {
  Cluster const c = build_cluster(geforce(2), profile_of_ones());
  EXPECT_DOUBLE_EQ(share_on(transfer_crossings(c, 3, 11), c.numa_memory[0]), 2);
  EXPECT_DOUBLE_EQ(share_on(transfer_crossings(c, 3, 11), c.numa_memory[2]), 2);
}

// Two NICs per GPU carry half of a message each; a ring of 2 x 8 GPUs a sixteenth on each of 16 NICs.
TEST(HostWays, SeveralNicsShareTheStream) {
  ClusterSpec spec = cluster_spec(2);
  spec.node.nics = 16;
  Cluster const c = build_cluster(spec, profile_of_ones());
  expect_crossings(transfer_crossings(c, 1, 9), {{c.gpu_pcie[1].up, 1},
                                                 {c.nic_pcie[2].down, 0.5},
                                                 {c.nic_pcie[3].down, 0.5},
                                                 {c.network.nic[2].up, 0.5},
                                                 {c.network.nic[3].up, 0.5},
                                                 {c.network.nic[18].down, 0.5},
                                                 {c.network.nic[19].down, 0.5},
                                                 {c.nic_pcie[18].up, 0.5},
                                                 {c.nic_pcie[19].up, 0.5},
                                                 {c.gpu_pcie[9].down, 1}});
  std::vector<int> all;
  for (int g = 0; g < 16; ++g) all.push_back(g);
  Crossings const ring = ring_crossings(c, all);
  for (Cable const& nic : c.network.nic) EXPECT_DOUBLE_EQ(share_on(ring, nic.up), 1.0 / 16);
  for (Cable const& port : c.gpu_pcie) EXPECT_DOUBLE_EQ(share_on(ring, port.up), 1.0 / 8);
}

// Up to the spine; an uplink that never limits is no constraint.
TEST(HostWays, OutsideIsTheFirstHalfOfATransfer) {
  ClusterSpec spec = cluster_spec(1);
  Cluster const c = build_cluster(spec, profile_of_ones());
  expect_crossings(outside_crossings(c, 6, Heading::out),
                   {{c.gpu_pcie[6].up, 1}, {c.nic_pcie[6].down, 1}, {c.network.nic[6].up, 1}});
  expect_crossings(outside_crossings(c, 6, Heading::in),
                   {{c.gpu_pcie[6].down, 1}, {c.nic_pcie[6].up, 1}, {c.network.nic[6].down, 1}});
  EXPECT_THROW(outside_crossings(c, 8, Heading::in), std::logic_error);
  spec.node.nics = 0;
  Cluster const lonely = build_cluster(spec, profile_of_ones());
  EXPECT_THROW(outside_crossings(lonely, 6, Heading::out), std::logic_error);
}

// Nothing joins the sockets of two trays: GPU 2's NIC would lie in tray 0.
TEST(HostWays, TraysMeetOverNvlinkAlone) {
  ClusterSpec spec = cluster_spec(2);
  spec.node.gpus_per_pcie_switch = 1;
  spec.node.trays = spec.node.numa_nodes = 4;
  Cluster const c = build_cluster(spec, profile_of_ones());
  EXPECT_EQ(transfer_crossings(c, 0, 7).size(), 2u);
  EXPECT_EQ(outside_crossings(c, 2, Heading::out).size(), 3u);
  spec.node.nics = 1;
  Cluster const one = build_cluster(spec, profile_of_ones());
  EXPECT_THROW(outside_crossings(one, 2, Heading::out), std::logic_error);
}

}  // namespace
}  // namespace rollcast
