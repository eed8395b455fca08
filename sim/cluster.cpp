#include "sim/cluster.hpp"

#include <algorithm>
#include <cmath>

namespace rollcast {
namespace {

using VertexId = ClusterGraph::vertex_descriptor;

class Builder {
 public:
  Builder(Cluster& cluster, Profile const& profile)
      : c_(cluster),
        node_(cluster.spec.node),
        fabric_(cluster.spec.fabric),
        nvlink_(node_.gpu.nvlink * profile.nvlink.value),
        pcie_(node_.gpu.pcie * profile.pcie.value),
        network_(min(node_.nic, fabric_.nic) * profile.network.value) {
    c_.switches_per_node =
        (node_.gpus + node_.gpus_per_pcie_switch - 1) / std::max(node_.gpus_per_pcie_switch, 1);
  }

  void build() {
    for (int n = 0; n < c_.spec.nodes; ++n) add_node(n);
    if (c_.spec.nodes > 1 && node_.nics > 0) add_fabric();
  }

 private:
  VertexId add_vertex(VertexKind kind, int node, int index) {
    VertexId const v = boost::add_vertex(c_.graph);
    c_.graph[v] = {kind, node, index};
    return v;
  }

  LinkId add_link(VertexId from, VertexId to, BytesPerSecond capacity, bool is_constraint = true) {
    auto const id = static_cast<LinkId>(c_.capacity.size());
    c_.capacity.push_back(capacity);
    c_.is_constraint.push_back(is_constraint);
    boost::add_edge(from, to, ClusterEdge{id}, c_.graph);
    return id;
  }

  Cable add_cable(VertexId low, VertexId high, BytesPerSecond capacity, bool is_constraint = true) {
    LinkId const up = add_link(low, high, capacity, is_constraint);
    return {up, add_link(high, low, capacity, is_constraint)};
  }

  void add_node(int n) {
    std::vector<VertexId> numa;
    for (int i = 0; i < node_.numa_nodes; ++i) {
      numa.push_back(add_vertex(VertexKind::numa, n, i));
      c_.numa_memory.push_back(add_link(numa.back(), numa.back(), node_.host_memory_bandwidth));
    }
    c_.socket.push_back(numa.size() > 1 ? add_cable(numa[0], numa[1], node_.host_memory_bandwidth) : Cable{});
    std::vector<VertexId> switches;
    for (int i = 0; i < c_.switches_per_node; ++i) {
      switches.push_back(add_vertex(VertexKind::pcie_switch, n, i));
      auto const home = static_cast<std::size_t>(i * node_.numa_nodes / c_.switches_per_node);
      c_.switch_upstream.push_back(add_cable(switches.back(), numa[home], pcie_));
    }
    std::vector<VertexId> gpus;
    for (int i = 0; i < node_.gpus; ++i) {
      gpus.push_back(add_vertex(VertexKind::gpu, n, i));
      auto const s = static_cast<std::size_t>(i / node_.gpus_per_pcie_switch);
      c_.gpu_pcie.push_back(add_cable(gpus.back(), switches[s], pcie_));
    }
    add_nvlink(n, gpus);
    for (int i = 0; i < node_.nics; ++i) {
      VertexId const nic = add_vertex(VertexKind::nic, n, i);
      nics_.push_back(nic);
      auto const s = static_cast<std::size_t>(i * c_.switches_per_node / node_.nics);
      c_.nic_pcie.push_back(add_cable(nic, switches[s], pcie_));
    }
    c_.nic_network.resize(nics_.size());
    c_.nic_leaf.resize(nics_.size(), -1);
  }

  void add_nvlink(int n, std::vector<VertexId> const& gpus) {
    auto const first = c_.gpu_nvlink.size();
    c_.gpu_nvlink.resize(first + gpus.size());
    if (node_.interconnect == Interconnect::nvswitch) {
      VertexId const nvswitch = add_vertex(VertexKind::nvswitch, n, 0);
      for (std::size_t i = 0; i < gpus.size(); ++i)
        c_.gpu_nvlink[first + i] = add_cable(gpus[i], nvswitch, nvlink_);
    } else if (node_.interconnect == Interconnect::nvlink_pairs) {
      for (std::size_t i = 0; i + 1 < gpus.size(); i += 2) {
        Cable const bridge = add_cable(gpus[i], gpus[i + 1], nvlink_);
        c_.gpu_nvlink[first + i] = bridge;
        c_.gpu_nvlink[first + i + 1] = {bridge.down, bridge.up};
      }
    }
  }

  void add_fabric() {
    VertexId const spine = add_vertex(VertexKind::spine, -1, 0);
    int const per_leaf = std::max(fabric_.nodes_per_leaf, 1);
    int const pods = (c_.spec.nodes + per_leaf - 1) / per_leaf;
    int const rails = fabric_.rail_optimized ? node_.nics : 1;
    int const nics_per_leaf = per_leaf * (node_.nics / rails);
    std::vector<VertexId> leaves;
    for (int i = 0; i < pods * rails; ++i) {
      leaves.push_back(add_vertex(VertexKind::leaf, -1, i));
      bool const narrow = fabric_.oversubscription > 1;
      c_.leaf_uplink.push_back(
          add_cable(leaves.back(), spine, network_ * (nics_per_leaf / fabric_.oversubscription), narrow));
    }
    for (std::size_t i = 0; i < nics_.size(); ++i) {
      int const node = static_cast<int>(i) / node_.nics;
      int const rail = fabric_.rail_optimized ? static_cast<int>(i) % node_.nics : 0;
      int const leaf = node / per_leaf * rails + rail;
      c_.nic_leaf[i] = leaf;
      c_.nic_network[i] = add_cable(nics_[i], leaves[static_cast<std::size_t>(leaf)], network_);
    }
  }

  Cluster& c_;
  Node const& node_;
  Fabric const& fabric_;
  BytesPerSecond nvlink_;
  BytesPerSecond pcie_;
  BytesPerSecond network_;
  std::vector<VertexId> nics_;  // of all nodes
};

}  // namespace

int Cluster::switch_of(int gpu) const {
  return node_of(gpu) * switches_per_node + gpu % spec.node.gpus / spec.node.gpus_per_pcie_switch;
}

int Cluster::nic_of(int gpu) const {
  if (spec.node.nics == 0) return -1;
  return node_of(gpu) * spec.node.nics + gpu % spec.node.gpus * spec.node.nics / spec.node.gpus;
}

int Cluster::numa_of(int gpu) const {
  int const s = switch_of(gpu) % switches_per_node;
  return node_of(gpu) * spec.node.numa_nodes + s * spec.node.numa_nodes / switches_per_node;
}

Cluster build_cluster(ClusterSpec const& spec, Profile const& profile) {
  Cluster cluster;  // filled in place: Boost's adjacency_list copies where others move
  cluster.spec = spec;
  Builder(cluster, profile).build();
  return cluster;
}

}  // namespace rollcast
