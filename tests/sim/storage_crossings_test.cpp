#include "sim/storage_crossings.hpp"

#include <gtest/gtest.h>

#include "sim/collectives.hpp"
#include "tests/sim/child_process.hpp"
#include "tests/sim/cluster_fixtures.hpp"

namespace rollcast {
namespace {

void expect_crossings(Crossings const& found, std::vector<Crossing> const& expected) {
  EXPECT_EQ(found.size(), expected.size());
  for (Crossing const& e : expected) EXPECT_DOUBLE_EQ(share_on(found, e.link), e.share) << "link " << e.link;
}

// The drives hang on NUMA node 0; GPU 5 is on NUMA node 1.
TEST(StorageCrossings, LocalDrivesAreReachedThroughMemory) {
  Cluster const c = build_cluster(with_storage(cluster_spec(2)), profile_of_ones());
  expect_crossings(gpu_storage_crossings(c, 5, StoragePlace::local, Heading::out),
                   {{c.gpu_pcie[5].up, 1},
                    {c.switch_upstream[2].up, 1},
                    {c.numa_memory[1], 2},
                    {c.socket[0].down, 1},
                    {c.drives[0].up, 1}});
  expect_crossings(gpu_storage_crossings(c, 8, StoragePlace::local, Heading::in),
                   {{c.gpu_pcie[8].down, 1},
                    {c.switch_upstream[4].down, 1},
                    {c.numa_memory[2], 2},
                    {c.drives[1].down, 1}});
  expect_crossings(node_storage_crossings(c, 1, StoragePlace::local, Heading::in),
                   {{c.numa_memory[2], 1}, {c.drives[1].down, 1}});
}

TEST(StorageCrossings, TheFileSystemLiesBehindTheSecondNetwork) {
  ClusterSpec spec = with_storage(cluster_spec(2));
  spec.storage_fabric->oversubscription = 2;
  Cluster const c = build_cluster(spec, profile_of_ones());
  Network const& n = c.storage_network;
  expect_crossings(gpu_storage_crossings(c, 13, StoragePlace::shared, Heading::out),
                   {{c.gpu_pcie[13].up, 1},
                    {c.switch_upstream[6].up, 1},
                    {c.numa_memory[3], 2},
                    {c.storage_nic_pcie[3].down, 1},
                    {n.nic[3].up, 1},
                    {n.leaf_uplink[1].up, 1},
                    {c.file_system.up, 1}});
  expect_crossings(node_storage_crossings(c, 0, StoragePlace::shared, Heading::in),
                   {{c.file_system.down, 1},
                    {n.leaf_uplink[0].down, 0.5},
                    {n.leaf_uplink[1].down, 0.5},
                    {n.nic[0].down, 0.5},
                    {n.nic[1].down, 0.5},
                    {c.storage_nic_pcie[0].up, 0.5},
                    {c.storage_nic_pcie[1].up, 0.5},
                    {c.numa_memory[0], 0.5},
                    {c.numa_memory[1], 0.5}});
}

// Without a second network it lies behind that of the GPUs.
TEST(StorageCrossings, OneNetworkCarriesStorageToo) {
  ClusterSpec spec = with_storage(cluster_spec(2));
  spec.storage_fabric.reset();
  Cluster const c = build_cluster(spec, profile_of_ones());
  expect_crossings(gpu_storage_crossings(c, 6, StoragePlace::shared, Heading::in),
                   {{c.file_system.down, 1},
                    {c.network.nic[6].down, 1},
                    {c.nic_pcie[6].up, 1},
                    {c.switch_upstream[3].up, 1},
                    {c.numa_memory[1], 2},
                    {c.switch_upstream[3].down, 1},
                    {c.gpu_pcie[6].down, 1}});
  Crossings const node = node_storage_crossings(c, 1, StoragePlace::shared, Heading::out);
  for (std::size_t nic = 8; nic < 16; ++nic) EXPECT_DOUBLE_EQ(share_on(node, c.network.nic[nic].up), 0.125);
  EXPECT_DOUBLE_EQ(share_on(node, c.numa_memory[2]), 0.5);
}

// Each tray has drives of its own.
TEST(StorageCrossings, ATrayWritesToItsOwnDrives) {
  ClusterSpec spec = with_storage(cluster_spec(1));
  spec.node.gpus_per_pcie_switch = 1;
  spec.node.trays = 4;
  spec.node.numa_nodes = spec.node.storage_nics = 8;
  Cluster const c = build_cluster(spec, profile_of_ones());
  Crossings const gpu = gpu_storage_crossings(c, 5, StoragePlace::local, Heading::out);
  EXPECT_DOUBLE_EQ(share_on(gpu, c.drives[2].up), 1);
  EXPECT_DOUBLE_EQ(share_on(gpu, c.socket[4].down), 1);
  Crossings const node = node_storage_crossings(c, 0, StoragePlace::local, Heading::out);
  for (Cable const& drives : c.drives) EXPECT_DOUBLE_EQ(share_on(node, drives.up), 0.25);
}

TEST(StorageCrossings, WhatIsNotThereThrows) {
  Cluster const c = build_cluster(cluster_spec(2), profile_of_ones());
  for (auto const place : {StoragePlace::local, StoragePlace::shared}) {
    EXPECT_FALSE(has_storage(c, place));
    EXPECT_THROW(gpu_storage_crossings(c, 0, place, Heading::in), std::logic_error);
    EXPECT_THROW(node_storage_crossings(c, 0, place, Heading::in), std::logic_error);
  }
  Cluster const with = build_cluster(with_storage(cluster_spec(2)), profile_of_ones());
  EXPECT_THROW(node_storage_crossings(with, 2, StoragePlace::local, Heading::in), std::logic_error);
}

// Seconds for every copy of a traffic to send `bytes`, each alone at the narrowest of its links.
double seconds_together(Cluster const& cluster, Traffic const& traffic, Bytes size) {
  return in_child([&] {
    Engine engine;
    auto const parts = build_platform(engine, cluster, {traffic});
    double const alone = seconds_per_stream_byte(parts[0]);
    Collectives collectives(engine);
    auto const id = collectives.add_communicator({traffic.name, 1, parts[0]});
    BytesPerSecond const rate(1 / alone);
    collectives.post(id, 0, std::vector<Arrival>{{seconds(0), {seconds(0), size, rate}}});
    EXPECT_TRUE(engine.run().leftovers.empty());
    return std::vector<double>{collectives.records().at(0).end.value};
  })[0];
}

// Four GPUs behind a switch copy 10 GB each to the host: 40 GB through its port of 50 GB/s, 0.8 s. Under two
// switches the ports carry 20 GB each: 0.4 s, and the memory of their NUMA node 40 GB at 200 GB/s.
TEST(StorageCrossings, GpusBehindASwitchShareItsPort) {
  for (int const per_switch : {4, 2}) {
    ClusterSpec spec = cluster_spec(1);
    spec.node.gpus_per_pcie_switch = per_switch;
    Cluster const c = build_cluster(spec, profile_of_ones());
    Traffic traffic{"copies", {}};
    for (int g = 0; g < 4; ++g)
      traffic.copies.push_back(host_copy_crossings(c, g, Direction::device_to_host));
    EXPECT_NEAR(seconds_together(c, traffic, GB(10)), per_switch == 4 ? 0.8 : 0.4, 1e-8);
  }
}

// Four nodes write 30 GB each: alone 40 GB/s over two cards of 20 (0.75 s), together 120 GB at 60 GB/s.
TEST(StorageCrossings, NodesShareTheFileSystem) {
  Cluster const c = build_cluster(with_storage(cluster_spec(4)), profile_of_ones());
  Traffic traffic{"save", {node_storage_crossings(c, 0, StoragePlace::shared, Heading::out)}};
  EXPECT_NEAR(seconds_together(c, traffic, GB(30)), 0.75, 1e-8);
  for (int n = 1; n < 4; ++n)
    traffic.copies.push_back(node_storage_crossings(c, n, StoragePlace::shared, Heading::out));
  EXPECT_NEAR(seconds_together(c, traffic, GB(30)), 2, 1e-8);
}

}  // namespace
}  // namespace rollcast
