#include "sim/crossings.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>

namespace rollcast {
namespace {

// Adds up shares by link, then gives them out in order.
class Collector {
 public:
  explicit Collector(Cluster const& cluster) : c_(cluster) {}

  void add(LinkId link, double share) {
    if (link < 0) throw std::logic_error("a communication over a cable that is not there");
    if (!c_.is_constraint[std::size_t(link)]) return;
    found_.push_back({link, share});
  }

  // GPU to GPU of one node.
  void add_local(int from, int to, double share) {
    if (c_.spec.node.interconnect == Interconnect::nvswitch) {
      add(c_.gpu_nvlink[std::size_t(from)].up, share);
      add(c_.gpu_nvlink[std::size_t(to)].down, share);
      return;
    }
    if (are_bridged(from, to)) {
      add(c_.gpu_nvlink[std::size_t(from)].up, share);
      return;
    }
    add(c_.gpu_pcie[std::size_t(from)].up, share);
    add(c_.gpu_pcie[std::size_t(to)].down, share);
    int const a = c_.switch_of(from), b = c_.switch_of(to);
    if (a == b) return;
    add(c_.switch_upstream[std::size_t(a)].up, share);
    add(c_.switch_upstream[std::size_t(b)].down, share);
    if (c_.numa_of(from) == c_.numa_of(to)) return;
    Cable const& socket = c_.socket[std::size_t(c_.node_of(from))];
    add(c_.numa_of(from) < c_.numa_of(to) ? socket.up : socket.down, share);
  }

  // NIC to NIC of two nodes.
  void add_network(int from, int to, double share) {
    add(c_.nic_network[std::size_t(from)].up, share);
    add(c_.nic_network[std::size_t(to)].down, share);
    int const a = c_.nic_leaf[std::size_t(from)], b = c_.nic_leaf[std::size_t(to)];
    if (a == b) return;
    add(c_.leaf_uplink[std::size_t(a)].up, share);
    add(c_.leaf_uplink[std::size_t(b)].down, share);
  }

  // GPU to its NIC and back, under one PCIe switch (or through the host where the NIC is elsewhere, which is
  // not modelled).
  void add_out(int gpu, double share) {
    add(c_.gpu_pcie[std::size_t(gpu)].up, share);
    add(c_.nic_pcie[std::size_t(c_.nic_of(gpu))].down, share);
  }
  void add_in(int gpu, double share) {
    add(c_.nic_pcie[std::size_t(c_.nic_of(gpu))].up, share);
    add(c_.gpu_pcie[std::size_t(gpu)].down, share);
  }

  Crossings result() && {
    std::stable_sort(found_.begin(), found_.end(),
                     [](Crossing const& a, Crossing const& b) { return a.link < b.link; });
    Crossings out;
    for (Crossing const& c : found_) {
      if (out.empty() || out.back().link != c.link) {
        out.push_back(c);
      } else {
        out.back().share += c.share;
      }
    }
    return out;
  }

 private:
  bool are_bridged(int a, int b) const {
    return c_.spec.node.interconnect == Interconnect::nvlink_pairs && c_.node_of(a) == c_.node_of(b) &&
           a % c_.spec.node.gpus / 2 == b % c_.spec.node.gpus / 2;
  }

  Cluster const& c_;
  Crossings found_;
};

// Members by node, nodes ascending, members ascending within.
std::vector<std::vector<int>> by_node(Cluster const& c, std::vector<int> gpus) {
  std::sort(gpus.begin(), gpus.end());
  if (std::adjacent_find(gpus.begin(), gpus.end()) != gpus.end())
    throw std::logic_error("a GPU twice in a communicator");
  if (!gpus.empty() && (gpus.front() < 0 || gpus.back() >= c.spec.gpus()))
    throw std::logic_error("a GPU outside the cluster");
  std::vector<std::vector<int>> nodes;
  for (int const g : gpus) {
    if (nodes.empty() || c.node_of(nodes.back().front()) != c.node_of(g)) nodes.emplace_back();
    nodes.back().push_back(g);
  }
  return nodes;
}

// One GPU for each NIC that is nearest to a member.
std::vector<int> exits(Cluster const& c, std::vector<int> const& members) {
  std::vector<int> out;
  for (int const g : members) {
    if (out.empty() || c.nic_of(out.back()) != c.nic_of(g)) out.push_back(g);
  }
  return out;
}

void add_ring_inside(Cluster const& c, std::vector<int> const& members, bool closed, Collector& out) {
  if (members.size() < 2) return;
  if (c.spec.node.interconnect == Interconnect::nvswitch) closed = true;  // see the header: every member
  for (std::size_t i = 0; i + 1 < members.size(); ++i) out.add_local(members[i], members[i + 1], 1);
  if (closed) out.add_local(members.back(), members.front(), 1);
}

}  // namespace

Crossings ring_crossings(Cluster const& cluster, std::vector<int> const& gpus) {
  auto const nodes = by_node(cluster, gpus);
  Collector out(cluster);
  for (auto const& members : nodes) add_ring_inside(cluster, members, nodes.size() == 1, out);
  if (nodes.size() < 2) return std::move(out).result();
  std::vector<std::vector<int>> exits_of;
  for (auto const& members : nodes) exits_of.push_back(exits(cluster, members));
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    auto const& here = exits_of[n];
    auto const& there = exits_of[(n + 1) % nodes.size()];
    // As many rings as NICs; a node with fewer of them carries several on each.
    std::size_t const rings = std::max(here.size(), there.size());
    double const share = 1.0 / static_cast<double>(rings);
    for (std::size_t r = 0; r < rings; ++r) {
      int const from = here[r % here.size()], to = there[r % there.size()];
      out.add_out(from, share);
      out.add_network(cluster.nic_of(from), cluster.nic_of(to), share);
      out.add_in(to, share);
    }
  }
  return std::move(out).result();
}

Crossings all_to_all_crossings(Cluster const& cluster, std::vector<int> const& gpus) {
  auto const nodes = by_node(cluster, gpus);
  Collector out(cluster);
  if (gpus.size() < 2) return {};
  double const to_each = 1.0 / static_cast<double>(gpus.size() - 1);
  for (auto const& members : nodes) {
    for (int const a : members) {
      for (int const b : members) {
        if (a != b) out.add_local(a, b, to_each);
      }
    }
    double const outside = static_cast<double>(gpus.size() - members.size()) * to_each;
    if (nodes.size() < 2) continue;
    for (int const g : members) {
      out.add_out(g, outside);
      out.add_in(g, outside);
      auto const nic = std::size_t(cluster.nic_of(g));
      out.add(cluster.nic_network[nic].up, outside);
      out.add(cluster.nic_network[nic].down, outside);
    }
  }
  // Up-links carry what goes to members under other leaves.
  std::map<int, int> members_of_leaf;
  if (nodes.size() > 1) {
    for (int const g : gpus) ++members_of_leaf[cluster.nic_leaf[std::size_t(cluster.nic_of(g))]];
  }
  for (auto const& [leaf, m] : members_of_leaf) {
    double const beyond = m * (static_cast<double>(gpus.size()) - m) * to_each;
    if (members_of_leaf.size() < 2) break;
    out.add(cluster.leaf_uplink[std::size_t(leaf)].up, beyond);
    out.add(cluster.leaf_uplink[std::size_t(leaf)].down, beyond);
  }
  return std::move(out).result();
}

Crossings transfer_crossings(Cluster const& cluster, int from, int to) {
  auto const nodes = by_node(cluster, {from, to});
  Collector out(cluster);
  if (nodes.size() == 1) {
    out.add_local(from, to, 1);
  } else {
    out.add_out(from, 1);
    out.add_network(cluster.nic_of(from), cluster.nic_of(to), 1);
    out.add_in(to, 1);
  }
  return std::move(out).result();
}

Crossings host_copy_crossings(Cluster const& cluster, int gpu, Direction direction) {
  Collector out(cluster);
  Cable const& port = cluster.gpu_pcie.at(std::size_t(gpu));
  Cable const& upstream = cluster.switch_upstream[std::size_t(cluster.switch_of(gpu))];
  bool const to_host = direction == Direction::device_to_host;
  out.add(to_host ? port.up : port.down, 1);
  out.add(to_host ? upstream.up : upstream.down, 1);
  out.add(cluster.numa_memory[std::size_t(cluster.numa_of(gpu))], 1);
  return std::move(out).result();
}

Crossings collective_crossings(Cluster const& cluster, CollectiveKind kind, std::vector<int> const& gpus) {
  switch (kind) {
    case CollectiveKind::all_to_all:
      return all_to_all_crossings(cluster, gpus);
    case CollectiveKind::send_recv:
      if (gpus.size() != 2) throw std::logic_error("a transfer is between two GPUs");
      return transfer_crossings(cluster, gpus[0], gpus[1]);
    case CollectiveKind::all_reduce:
    case CollectiveKind::all_gather:
    case CollectiveKind::reduce_scatter:
    case CollectiveKind::broadcast:
      break;
  }
  return ring_crossings(cluster, gpus);
}

}  // namespace rollcast
