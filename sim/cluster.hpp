// The cluster as a graph (Boost.Graph): what is plugged into what, and how fast each direction is.
//
// Vertices: GPU, NVSwitch (one per node, standing for all of them), PCIe switch, NUMA node of the host, local
// drives (one per host), NIC, leaf switch, spine (one, standing for all of them); of the second network NIC,
// leaf and spine; the shared file system. Every cable is two edges, one per direction, each with a capacity
// of its own (full duplex). Host memory is a loop on its NUMA node that both directions share.
//
//   GPU - NVSwitch            Gpu::nvlink x profile.nvlink      (Interconnect::nvswitch)
//   GPU - GPU (2i, 2i+1)      the same                          (Interconnect::nvlink_pairs)
//   GPU - PCIe switch         Gpu::pcie x profile.pcie
//   NIC - PCIe switch         Node::nic_slot x profile.pcie; where it is 0 as a GPU slot
//   PCIe switch - NUMA node   Gpu::pcie x profile.pcie: one upstream port per switch, of all GPUs behind it
//   NUMA node - next one      host_memory_bandwidth, within one host (the socket link is not narrower here)
//   NUMA node loop            host_memory_bandwidth
//   drives - first NUMA node  of their host: nvme_write up, nvme_read down, divided by Node::trays
//   NIC - leaf                min(Node::nic, Fabric::nic) x profile.network
//   leaf - spine              sum of the leaf's NICs / oversubscription
//   storage NIC - NUMA node   as a NIC slot
//   storage NIC - leaf        min(Node::storage_nic, storage_fabric->nic) x profile.network, and so on
//   upwards spine - file system       SharedStorage::write up, read down; the spine of the second network,
//   where there
//                             is one
//
// Rail-optimized: NIC i of nodes_per_leaf nodes hangs on leaf i of their pod; otherwise all NICs of
// nodes_per_leaf nodes hang on one leaf. A fabric without oversubscription never limits, so its leaf - spine
// edges are no constraint (is_constraint). A single node has its fabric too: for traffic to other pools.
#pragma once

#include <boost/graph/adjacency_list.hpp>
#include <cstdint>
#include <vector>

#include "models/hardware.hpp"
#include "models/profile.hpp"

namespace rollcast {

enum class VertexKind {
  gpu,
  nvswitch,
  pcie_switch,
  numa,
  nvme,
  nic,
  leaf,
  spine,
  storage_nic,
  storage_leaf,
  storage_spine,
  file_system,
};

struct ClusterVertex {
  VertexKind kind = VertexKind::gpu;
  int node = -1;  // -1: of no node (leaf, spine, file system)
  int index = 0;  // within the node; leaves: within the cluster
};

using LinkId = std::int32_t;  // index into Cluster::capacity

struct ClusterEdge {
  LinkId link = -1;
};

using ClusterGraph =
    boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, ClusterVertex, ClusterEdge>;

// Both directions of a cable: `up` away from the GPU (GPU to switch, NIC to leaf, leaf to spine).
struct Cable {
  LinkId up = -1;  // -1: no such cable
  LinkId down = -1;
};

// The cards of one network and what they hang on. Cards are numbered node by node.
struct Network {
  std::vector<Cable> nic;          // of a card: to its leaf
  std::vector<int> leaf;           // of a card: leaf index; -1: there is no such network
  std::vector<Cable> leaf_uplink;  // of a leaf
};

struct Cluster {
  ClusterSpec spec;
  ClusterGraph graph;
  std::vector<BytesPerSecond> capacity;  // of each link
  std::vector<BytesPerSecond> shared;    // what other traffic leaves of each; empty: all
  std::vector<bool> is_constraint;       // of each link: false where it can never be the narrowest

  // Cables by what hangs on them; GPUs, NUMA nodes and NICs are numbered node by node.
  std::vector<Cable> gpu_nvlink;        // of a GPU: to the NVSwitch, or to its pair (up: out of this GPU)
  std::vector<Cable> gpu_pcie;          // of a GPU
  std::vector<Cable> nic_pcie;          // of a NIC
  std::vector<Cable> storage_nic_pcie;  // of a storage NIC: to its NUMA node
  std::vector<Cable> switch_upstream;   // of a PCIe switch
  std::vector<LinkId> numa_memory;      // of a NUMA node
  std::vector<Cable> socket;            // of a NUMA node: to the next one of its host (up), back (down)
  std::vector<Cable> drives;            // of a host (Node::trays per node)
  Network network;                      // for training traffic
  Network storage_network;              // the second one
  Cable file_system;                    // shared storage

  int switches_per_node = 0;

  int node_of(int gpu) const { return gpu / spec.node.gpus; }
  int switch_of(int gpu) const;          // PCIe switch, cluster-wide
  int nic_of(int gpu) const;             // the first of the nearest NICs, cluster-wide; -1: the node has none
  int nics_of(int gpu) const;            // how many are nearest to it: 1 where the node has no more than GPUs
  int storage_nic_of(int gpu) const;     // the nearest storage NIC, cluster-wide; -1: the node has none
  int numa_of(int gpu) const;            // NUMA node, cluster-wide
  int host_of(int gpu) const;            // host, cluster-wide
  int switch_of_nic(int nic) const;      // PCIe switch, cluster-wide
  int numa_of_switch(int s) const;       // NUMA node, cluster-wide
  int numa_of_storage_nic(int n) const;  // NUMA node, cluster-wide
  int numa_of_drives(int host) const;    // NUMA node, cluster-wide
};

Cluster build_cluster(ClusterSpec const& spec, Profile const& profile);

}  // namespace rollcast
