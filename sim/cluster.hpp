// The cluster as a graph (Boost.Graph): what is plugged into what, and how fast each direction is.
//
// Vertices: GPU, NVSwitch (one per node, standing for all of them), PCIe switch, NUMA node of the host, NIC,
// leaf switch, spine (one, standing for all of them). Every cable is two edges, one per direction, each with
// a capacity of its own (full duplex). Host memory is a loop on its NUMA node that both directions share.
//
//   GPU - NVSwitch            Gpu::nvlink x profile.nvlink      (Interconnect::nvswitch)
//   GPU - GPU (2i, 2i+1)      the same                          (Interconnect::nvlink_pairs)
//   GPU - PCIe switch         Gpu::pcie x profile.pcie
//   NIC - PCIe switch         the same: a NIC slot is as wide as a GPU slot
//   PCIe switch - NUMA node   the same: one upstream port per switch
//   NUMA node - NUMA node     host_memory_bandwidth (the socket link is not narrower in this model)
//   NUMA node loop            host_memory_bandwidth
//   NIC - leaf                min(Node::nic, Fabric::nic) x profile.network
//   leaf - spine              sum of the leaf's NICs / oversubscription
//
// Rail-optimized: NIC i of nodes_per_leaf nodes hangs on leaf i of their pod; otherwise all NICs of
// nodes_per_leaf nodes hang on one leaf. A fabric without oversubscription never limits, so its leaf - spine
// edges are no constraint (is_constraint).
#pragma once

#include <boost/graph/adjacency_list.hpp>
#include <cstdint>
#include <vector>

#include "models/hardware.hpp"
#include "models/profile.hpp"

namespace rollcast {

enum class VertexKind { gpu, nvswitch, pcie_switch, numa, nic, leaf, spine };

struct ClusterVertex {
  VertexKind kind = VertexKind::gpu;
  int node = -1;  // -1: leaf, spine
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

struct Cluster {
  ClusterSpec spec;
  ClusterGraph graph;
  std::vector<BytesPerSecond> capacity;  // of each link
  std::vector<BytesPerSecond> shared;    // what other traffic leaves of each; empty: all
  std::vector<bool> is_constraint;       // of each link: false where it can never be the narrowest

  // Cables by what hangs on them; GPUs and NICs are numbered node by node.
  std::vector<Cable> gpu_nvlink;       // of a GPU: to the NVSwitch, or to its pair (up: out of this GPU)
  std::vector<Cable> gpu_pcie;         // of a GPU
  std::vector<Cable> nic_pcie;         // of a NIC
  std::vector<Cable> nic_network;      // of a NIC
  std::vector<int> nic_leaf;           // of a NIC: leaf index
  std::vector<Cable> switch_upstream;  // of a PCIe switch
  std::vector<Cable> leaf_uplink;      // of a leaf
  std::vector<LinkId> numa_memory;     // of a NUMA node
  std::vector<Cable> socket;           // of a node: first NUMA node to second (up), back (down)

  int switches_per_node = 0;

  int node_of(int gpu) const { return gpu / spec.node.gpus; }
  int switch_of(int gpu) const;  // PCIe switch, cluster-wide
  int nic_of(int gpu) const;     // the nearest NIC, cluster-wide; -1: the node has none
  int numa_of(int gpu) const;    // NUMA node, cluster-wide
};

Cluster build_cluster(ClusterSpec const& spec, Profile const& profile);

}  // namespace rollcast
