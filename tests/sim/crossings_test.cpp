#include "sim/crossings.hpp"

#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "tests/sim/cluster_fixtures.hpp"

namespace rollcast {
namespace {

std::vector<int> first_gpus(int n) {
  std::vector<int> out(static_cast<std::size_t>(n));
  std::iota(out.begin(), out.end(), 0);
  return out;
}

// Whether the links, in some order, lead from one GPU to the other and nowhere else.
bool is_a_path(Cluster const& c, Crossings const& crossings, int from, int to) {
  std::map<std::size_t, std::size_t> next;
  for (auto [e, end] = boost::edges(c.graph); e != end; ++e) {
    if (share_on(crossings, c.graph[*e].link) > 0)
      next[boost::source(*e, c.graph)] = boost::target(*e, c.graph);
  }
  auto const vertex = [&](int gpu) {
    for (std::size_t v = 0; v < boost::num_vertices(c.graph); ++v) {
      auto const& x = c.graph[v];
      if (x.kind == VertexKind::gpu && x.node * c.spec.node.gpus + x.index == gpu) return v;
    }
    return boost::num_vertices(c.graph);
  };
  std::size_t at = vertex(from), hops = 0;
  for (; next.contains(at) && hops <= crossings.size(); ++hops) at = next[at];
  return at == vertex(to) && hops == crossings.size();
}

TEST(Crossings, ATransferIsAPathOfTheGraph) {
  for (auto const kind : {Interconnect::nvswitch, Interconnect::nvlink_pairs, Interconnect::pcie}) {
    for (auto const& [rails, nics] : {std::pair(true, 8), {false, 8}, {true, 2}, {false, 1}}) {
      ClusterSpec spec = cluster_spec(4, 8, kind);
      spec.node.nics = nics;
      spec.fabric.nodes_per_leaf = 2;
      spec.fabric.oversubscription = 2;  // so that every link of the way is a constraint
      spec.fabric.rail_optimized = rails;
      Cluster const c = build_cluster(spec, profile_of_ones());
      for (int to : {1, 2, 7, 8, 15, 16, 31}) {
        EXPECT_TRUE(is_a_path(c, transfer_crossings(c, 0, to), 0, to)) << "to " << to;
        EXPECT_TRUE(is_a_path(c, transfer_crossings(c, to, 0), to, 0)) << "from " << to;
      }
    }
  }
}

// Eight GPUs of one NVSwitch node: 8 ports out, 8 in, each with the whole stream.
TEST(Crossings, ARingInsideANodeCrossesEveryNvlink) {
  Cluster const c = build_cluster(cluster_spec(1), profile_of_ones());
  Crossings const ring = ring_crossings(c, first_gpus(8));
  EXPECT_EQ(ring.size(), 16u);
  for (Cable const& cable : c.gpu_nvlink) {
    EXPECT_DOUBLE_EQ(share_on(ring, cable.up), 1);
    EXPECT_DOUBLE_EQ(share_on(ring, cable.down), 1);
  }
}

// All 16 GPUs of two nodes: 32 NVLink directions carry the stream; 16 NICs, with their PCIe ports and those
// of their GPUs, an eighth of it in each direction.
TEST(Crossings, ARingAcrossNodesUsesEveryNic) {
  Cluster const c = build_cluster(cluster_spec(2), profile_of_ones());
  Crossings const ring = ring_crossings(c, first_gpus(16));
  EXPECT_EQ(ring.size(), 32u + 3 * 32u);
  for (Cable const& cable : c.gpu_nvlink) EXPECT_DOUBLE_EQ(share_on(ring, cable.down), 1);
  for (auto const* cables : {&c.network.nic, &c.nic_pcie, &c.gpu_pcie}) {
    for (Cable const& cable : *cables) {
      EXPECT_DOUBLE_EQ(share_on(ring, cable.up), 0.125);
      EXPECT_DOUBLE_EQ(share_on(ring, cable.down), 0.125);
    }
  }
}

// One rank per node (a data-parallel group of TP8): no NVLink, one NIC per node with the whole stream.
TEST(Crossings, ARingOfOneRankPerNodeUsesItsNicOnly) {
  Cluster const c = build_cluster(cluster_spec(2), profile_of_ones());
  Crossings const ring = ring_crossings(c, {3, 11});
  EXPECT_EQ(ring.size(), 12u);
  EXPECT_DOUBLE_EQ(share_on(ring, c.network.nic[3].up), 1);
  EXPECT_DOUBLE_EQ(share_on(ring, c.network.nic[11].down), 1);
  EXPECT_DOUBLE_EQ(share_on(ring, c.network.nic[0].up), 0);
}

// Four nodes, two to a leaf, ring 0-1-2-3-0 on rail 0: leaf 0 is left at 1-2 and leaf 1 at 3-0.
TEST(Crossings, ARingLeavesEachLeafOnce) {
  ClusterSpec spec = cluster_spec(4);
  spec.fabric.nodes_per_leaf = 2;
  spec.fabric.oversubscription = 2;
  Cluster const c = build_cluster(spec, profile_of_ones());
  Crossings const ring = ring_crossings(c, {16, 0, 24, 8});
  for (std::size_t const leaf : {0u, 8u}) {
    EXPECT_DOUBLE_EQ(share_on(ring, c.network.leaf_uplink[leaf].up), 1);
    EXPECT_DOUBLE_EQ(share_on(ring, c.network.leaf_uplink[leaf].down), 1);
  }
}

// Four GPUs on two switches and two sockets, ring 0-1-2-3-0: 1-2 goes up from switch 0 and down to switch 1
// over the socket link, 3-0 the other way.
TEST(Crossings, ARingOverPcieCrossesTheHost) {
  Cluster const c = build_cluster(cluster_spec(1, 4, Interconnect::pcie), profile_of_ones());
  Crossings const ring = ring_crossings(c, first_gpus(4));
  EXPECT_EQ(ring.size(), 8u + 4u + 2u);
  for (Crossing const& x : ring) EXPECT_DOUBLE_EQ(x.share, 1);
  EXPECT_DOUBLE_EQ(share_on(ring, c.switch_upstream[0].up), 1);
  EXPECT_DOUBLE_EQ(share_on(ring, c.socket[0].down), 1);
}

// With bridges 0-1 and 2-3 the same ring: bridges forward, 1-2 and 3-0 over PCIe.
TEST(Crossings, ARingUsesBridgesWhereThereAreSome) {
  Cluster const c = build_cluster(cluster_spec(1, 4, Interconnect::nvlink_pairs), profile_of_ones());
  Crossings const ring = ring_crossings(c, first_gpus(4));
  EXPECT_DOUBLE_EQ(share_on(ring, c.gpu_nvlink[0].up), 1);
  EXPECT_DOUBLE_EQ(share_on(ring, c.gpu_nvlink[2].up), 1);
  EXPECT_DOUBLE_EQ(share_on(ring, c.gpu_nvlink[1].up), 0);
  EXPECT_DOUBLE_EQ(share_on(ring, c.gpu_pcie[1].up), 1);
  EXPECT_DOUBLE_EQ(share_on(ring, c.gpu_pcie[0].up), 0);
}

// n = 16, m = 8: 7/15 of what a GPU sends stays on NVLink, 8/15 goes through its NIC.
TEST(Crossings, AllToAllSplitsBetweenNvlinkAndNic) {
  Cluster const c = build_cluster(cluster_spec(2), profile_of_ones());
  Crossings const x = all_to_all_crossings(c, first_gpus(16));
  EXPECT_NEAR(share_on(x, c.gpu_nvlink[5].up), 7.0 / 15, 1e-12);
  EXPECT_NEAR(share_on(x, c.gpu_nvlink[5].down), 7.0 / 15, 1e-12);
  EXPECT_NEAR(share_on(x, c.network.nic[5].up), 8.0 / 15, 1e-12);
}

// Rail-optimized and 2:1. A leaf for each node and rail holds one member, who sends to the 8 of the other
// node: 8/15. A leaf for a rail of both nodes holds two; each sends to the 7 of the other node on other
// rails: 14/15. A fat tree with a leaf for each node: 8 members send to 8.
TEST(Crossings, AllToAllLoadsTheUplinks) {
  ClusterSpec spec = cluster_spec(2);
  spec.fabric.oversubscription = 2;
  spec.fabric.nodes_per_leaf = 1;
  auto const share = [](ClusterSpec const& s) {
    Cluster const c = build_cluster(s, profile_of_ones());
    Crossings const x = all_to_all_crossings(c, first_gpus(16));
    EXPECT_DOUBLE_EQ(share_on(x, c.network.leaf_uplink[0].up), share_on(x, c.network.leaf_uplink[0].down));
    return share_on(x, c.network.leaf_uplink[0].up);
  };
  EXPECT_NEAR(share(spec), 8.0 / 15, 1e-12);
  spec.fabric.nodes_per_leaf = 2;
  EXPECT_NEAR(share(spec), 14.0 / 15, 1e-12);
  spec.fabric.rail_optimized = false;
  EXPECT_EQ(share(spec), 0) << "one leaf for all";
  spec.fabric.nodes_per_leaf = 1;
  EXPECT_NEAR(share(spec), 64.0 / 15, 1e-12);
}

TEST(Crossings, AHostCopyGoesThroughSwitchAndMemory) {
  Cluster const c = build_cluster(cluster_spec(2), profile_of_ones());
  Crossings const down = host_copy_crossings(c, 9, Direction::host_to_device);
  EXPECT_EQ(down.size(), 3u);
  EXPECT_DOUBLE_EQ(share_on(down, c.gpu_pcie[9].down), 1);
  EXPECT_DOUBLE_EQ(share_on(down, c.switch_upstream[4].down), 1);
  EXPECT_DOUBLE_EQ(share_on(down, c.numa_memory[2]), 1);
}

TEST(Crossings, NothingIsCrossedAlone) {
  Cluster const c = build_cluster(cluster_spec(2), profile_of_ones());
  EXPECT_TRUE(ring_crossings(c, {3}).empty());
  EXPECT_TRUE(all_to_all_crossings(c, {3}).empty());
  EXPECT_THROW(ring_crossings(c, {3, 3}), std::logic_error);
  EXPECT_THROW(ring_crossings(c, {3, 16}), std::logic_error);
}

// Bytes sent are bytes received, for any members: over each kind of cable, what goes up comes down
// (but for the socket link: a ring passes through a node one way).
TEST(Crossings, BytesSentAreBytesReceived) {
  std::uint64_t x = 7;
  auto const random = [&x](int below) {
    x = x * 6364136223846793005u + 1442695040888963407u;
    return static_cast<int>((x >> 33) % static_cast<std::uint64_t>(below));
  };
  for (int trial = 0; trial < 200; ++trial) {
    auto const kind = trial % 2 == 0 ? Interconnect::nvswitch : Interconnect::pcie;
    ClusterSpec spec = cluster_spec(1 + random(12), 8, kind);
    spec.node.nics = 1 << random(5);
    spec.fabric.nodes_per_leaf = 1 + random(4);
    spec.fabric.oversubscription = 2;
    spec.fabric.rail_optimized = random(2) == 0;
    spec.fabric.gpu_direct = random(2) == 0;
    spec.node.peer_access = random(2) == 0;
    Cluster const c = build_cluster(spec, profile_of_ones());
    std::vector<int> gpus;
    for (int g = 0; g < spec.gpus(); ++g) {
      if (random(3) == 0) gpus.push_back(g);
    }
    for (auto const collective : {CollectiveKind::all_reduce, CollectiveKind::all_to_all}) {
      Crossings const crossings = collective_crossings(c, collective, gpus);
      for (auto const* cables : {&c.gpu_pcie, &c.gpu_nvlink, &c.nic_pcie, &c.switch_upstream, &c.network.nic,
                                 &c.network.leaf_uplink}) {
        double up = 0, down = 0;
        for (Cable const& cable : *cables) {
          up += share_on(crossings, cable.up);
          down += share_on(crossings, cable.down);
        }
        EXPECT_NEAR(up, down, 1e-9) << "trial " << trial;
      }
    }
  }
}

}  // namespace
}  // namespace rollcast
