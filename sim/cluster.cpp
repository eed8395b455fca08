#include "sim/cluster.hpp"

#include <algorithm>
#include <cmath>

namespace rollcast {
namespace {

using VertexId = ClusterGraph::vertex_descriptor;

// Where part i of n lies among `places` places that share them evenly.
int place(int i, int n, int places) { return i * places / std::max(n, 1); }

class Builder {
 public:
  Builder(Cluster& cluster, Profile const& profile)
      : c_(cluster),
        node_(cluster.spec.node),
        network_share_(profile.network.value),
        nvlink_(node_.gpu.nvlink * profile.nvlink.value),
        pcie_(node_.gpu.pcie * profile.pcie.value),
        slot_(node_.nic_slot.value > 0 ? node_.nic_slot * profile.pcie.value : pcie_) {
    c_.switches_per_node =
        (node_.gpus + node_.gpus_per_pcie_switch - 1) / std::max(node_.gpus_per_pcie_switch, 1);
  }

  void build() {
    for (int n = 0; n < c_.spec.nodes; ++n) add_node(n);
    c_.network = unplugged(nics_.size());
    c_.storage_network = unplugged(storage_nics_.size());
    VertexId spine = add_fabric({c_.spec.fabric, node_.nics, node_.nic, VertexKind::leaf, VertexKind::spine},
                                nics_, c_.network);
    if (c_.spec.storage_fabric) {
      spine = add_fabric({*c_.spec.storage_fabric, node_.storage_nics, node_.storage_nic,
                          VertexKind::storage_leaf, VertexKind::storage_spine},
                         storage_nics_, c_.storage_network);
    }
    add_file_system(spine);
  }

 private:
  struct NetworkPlan {
    Fabric const& fabric;
    int nics = 0;  // per node
    BytesPerSecond nic;
    VertexKind leaf = VertexKind::leaf;
    VertexKind spine = VertexKind::spine;
  };

  static Network unplugged(std::size_t cards) {
    return {std::vector<Cable>(cards), std::vector<int>(cards, -1), {}};
  }

  static constexpr VertexId kNone = static_cast<VertexId>(-1);

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
    std::vector<VertexId> const numa = add_host_memory(n);
    std::vector<VertexId> switches;
    for (int i = 0; i < c_.switches_per_node; ++i) {
      switches.push_back(add_vertex(VertexKind::pcie_switch, n, i));
      auto const home = std::size_t(place(i, c_.switches_per_node, node_.numa_nodes));
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
      nics_.push_back(add_vertex(VertexKind::nic, n, i));
      auto const s = std::size_t(place(i, node_.nics, c_.switches_per_node));
      c_.nic_pcie.push_back(add_cable(nics_.back(), switches[s], slot_));
    }
    for (int i = 0; i < node_.storage_nics; ++i) {
      storage_nics_.push_back(add_vertex(VertexKind::storage_nic, n, i));
      auto const home = std::size_t(place(i, node_.storage_nics, node_.numa_nodes));
      c_.storage_nic_pcie.push_back(add_cable(storage_nics_.back(), numa[home], slot_));
    }
    if (node_.nvme_read.value > 0 && node_.nvme_write.value > 0) add_drives(n, numa);
  }

  std::vector<VertexId> add_host_memory(int n) {
    std::vector<VertexId> numa;
    for (int i = 0; i < node_.numa_nodes; ++i) {
      numa.push_back(add_vertex(VertexKind::numa, n, i));
      c_.numa_memory.push_back(add_link(numa.back(), numa.back(), node_.host_memory_bandwidth));
    }
    auto const host = [&](std::size_t i) {
      return place(static_cast<int>(i), node_.numa_nodes, std::max(node_.trays, 1));
    };
    for (std::size_t i = 0; i < numa.size(); ++i) {
      bool const joined = i + 1 < numa.size() && host(i) == host(i + 1);
      c_.socket.push_back(joined ? add_cable(numa[i], numa[i + 1], node_.host_memory_bandwidth) : Cable{});
    }
    return numa;
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

  void add_drives(int n, std::vector<VertexId> const& numa) {
    int const hosts = std::max(node_.trays, 1);
    for (int i = 0; i < hosts; ++i) {
      VertexId const drives = add_vertex(VertexKind::nvme, n, i);
      VertexId const home = numa[std::size_t(place(i, hosts, node_.numa_nodes))];
      LinkId const up = add_link(home, drives, node_.nvme_write / hosts);
      c_.drives.push_back({up, add_link(drives, home, node_.nvme_read / hosts)});
    }
  }

  // Returns the spine, kNone where there is no such network.
  VertexId add_fabric(NetworkPlan const& plan, std::vector<VertexId> const& nics, Network& out) {
    Fabric const& fabric = plan.fabric;
    BytesPerSecond const nic = min(plan.nic, fabric.nic) * network_share_;
    if (plan.nics < 1 || !(nic.value > 0)) return kNone;
    VertexId const spine = add_vertex(plan.spine, -1, 0);
    int const per_leaf = std::max(fabric.nodes_per_leaf, 1);
    int const pods = (c_.spec.nodes + per_leaf - 1) / per_leaf;
    int const rails = fabric.rail_optimized ? plan.nics : 1;
    int const nics_per_leaf = per_leaf * (plan.nics / rails);
    std::vector<VertexId> leaves;
    for (int i = 0; i < pods * rails; ++i) {
      leaves.push_back(add_vertex(plan.leaf, -1, i));
      bool const narrow = fabric.oversubscription > 1;
      out.leaf_uplink.push_back(
          add_cable(leaves.back(), spine, nic * (nics_per_leaf / fabric.oversubscription), narrow));
    }
    for (std::size_t i = 0; i < nics.size(); ++i) {
      int const node = static_cast<int>(i) / plan.nics;
      int const rail = fabric.rail_optimized ? static_cast<int>(i) % plan.nics : 0;
      out.leaf[i] = node / per_leaf * rails + rail;
      out.nic[i] = add_cable(nics[i], leaves[std::size_t(out.leaf[i])], nic);
    }
    return spine;
  }

  void add_file_system(VertexId spine) {
    SharedStorage const& s = c_.spec.storage;
    if (spine == kNone || !(s.read.value > 0) || !(s.write.value > 0)) return;
    VertexId const files = add_vertex(VertexKind::file_system, -1, 0);
    LinkId const up = add_link(spine, files, s.write);
    c_.file_system = {up, add_link(files, spine, s.read)};
  }

  Cluster& c_;
  Node const& node_;
  double network_share_;
  BytesPerSecond nvlink_;
  BytesPerSecond pcie_;
  BytesPerSecond slot_;
  std::vector<VertexId> nics_;  // of all nodes
  std::vector<VertexId> storage_nics_;
};

}  // namespace

int Cluster::switch_of(int gpu) const {
  return node_of(gpu) * switches_per_node + gpu % spec.node.gpus / spec.node.gpus_per_pcie_switch;
}

int Cluster::nic_of(int gpu) const {
  if (spec.node.nics == 0) return -1;
  return node_of(gpu) * spec.node.nics + place(gpu % spec.node.gpus, spec.node.gpus, spec.node.nics);
}

int Cluster::nics_of(int gpu) const {
  if (spec.node.nics == 0) return 0;
  int const local = gpu % spec.node.gpus;
  return std::max(
      1, place(local + 1, spec.node.gpus, spec.node.nics) - place(local, spec.node.gpus, spec.node.nics));
}

int Cluster::storage_nic_of(int gpu) const {
  Node const& n = spec.node;
  if (n.storage_nics == 0) return -1;
  return node_of(gpu) * n.storage_nics + place(gpu % n.gpus, n.gpus, n.storage_nics);
}

int Cluster::numa_of(int gpu) const { return numa_of_switch(switch_of(gpu)); }

int Cluster::host_of(int gpu) const {
  int const hosts = std::max(spec.node.trays, 1);
  return node_of(gpu) * hosts + place(gpu % spec.node.gpus, spec.node.gpus, hosts);
}

int Cluster::switch_of_nic(int nic) const {
  return nic / spec.node.nics * switches_per_node +
         place(nic % spec.node.nics, spec.node.nics, switches_per_node);
}

int Cluster::numa_of_switch(int s) const {
  return s / switches_per_node * spec.node.numa_nodes +
         place(s % switches_per_node, switches_per_node, spec.node.numa_nodes);
}

int Cluster::numa_of_storage_nic(int n) const {
  int const per_node = spec.node.storage_nics;
  return n / per_node * spec.node.numa_nodes + place(n % per_node, per_node, spec.node.numa_nodes);
}

int Cluster::numa_of_drives(int host) const {
  int const hosts = std::max(spec.node.trays, 1);
  return host / hosts * spec.node.numa_nodes + place(host % hosts, hosts, spec.node.numa_nodes);
}

Cluster build_cluster(ClusterSpec const& spec, Profile const& profile) {
  Cluster cluster;  // filled in place: Boost's adjacency_list copies where others move
  cluster.spec = spec;
  Builder(cluster, profile).build();
  return cluster;
}

}  // namespace rollcast
