#include "sim/crossings.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>

#include "sim/way.hpp"

namespace rollcast {
namespace {

// A NIC and the member that it is nearest to.
struct Exit {
  int gpu = -1;
  int nic = -1;
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

// Each NIC that is nearest to a member, once.
std::vector<Exit> exits(Cluster const& c, std::vector<int> const& members) {
  std::vector<Exit> out;
  for (int const g : members) {
    for (int nic = c.nic_of(g); nic < c.nic_of(g) + c.nics_of(g); ++nic) {
      if (out.empty() || out.back().nic != nic) out.push_back({g, nic});
    }
  }
  if (out.empty()) throw std::logic_error("a communication over the NICs of a node without any");
  return out;
}

void add_ring_inside(Cluster const& c, std::vector<int> const& members, bool closed, Way& out) {
  if (members.size() < 2) return;
  if (c.spec.node.interconnect == Interconnect::nvswitch) closed = true;  // see the header: every member
  for (std::size_t i = 0; i + 1 < members.size(); ++i) out.gpu_to_gpu(members[i], members[i + 1], 1);
  if (closed) out.gpu_to_gpu(members.back(), members.front(), 1);
}

// As many streams as NICs; a node with fewer of them carries several on each.
void add_between_nodes(std::vector<Exit> const& here, std::vector<Exit> const& there, Way& out) {
  std::size_t const streams = std::max(here.size(), there.size());
  double const share = 1.0 / static_cast<double>(streams);
  for (std::size_t s = 0; s < streams; ++s) {
    Exit const from = here[s % here.size()], to = there[s % there.size()];
    out.gpu_and_nic(from.gpu, from.nic, Heading::out, share);
    out.nic_to_nic(from.nic, to.nic, share);
    out.gpu_and_nic(to.gpu, to.nic, Heading::in, share);
  }
}

// Members under one leaf (a NIC of several counts as its part of a member), and those of them by node.
struct LeafMembers {
  double all = 0;
  std::map<int, double> of_node;
};

// Up-links of an all-to-all of n members, to_each from one to another.
void add_uplinks(Cluster const& c, std::vector<std::vector<int>> const& nodes, double n, double to_each,
                 Way& out) {
  std::map<int, LeafMembers> leaves;
  std::map<int, double> size_of_node;
  for (auto const& members : nodes) {
    int const node = c.node_of(members.front());
    size_of_node[node] = static_cast<double>(members.size());
    for (int const g : members) {
      double const part = 1.0 / c.nics_of(g);
      for (int nic = c.nic_of(g); nic < c.nic_of(g) + c.nics_of(g); ++nic) {
        LeafMembers& leaf = leaves[c.network.leaf[std::size_t(nic)]];
        leaf.all += part;
        leaf.of_node[node] += part;
      }
    }
  }
  for (auto const& [leaf, members] : leaves) {
    // Pairs of different nodes, less those of them under this leaf.
    double pairs = -members.all * members.all;
    for (auto const& [node, m] : members.of_node) pairs += m * (n - size_of_node[node]) + m * m;
    if (pairs < 1e-9) continue;
    out.add(c.network.leaf_uplink[std::size_t(leaf)].up, pairs * to_each);
    out.add(c.network.leaf_uplink[std::size_t(leaf)].down, pairs * to_each);
  }
}

}  // namespace

Crossings ring_crossings(Cluster const& cluster, std::vector<int> const& gpus) {
  auto const nodes = by_node(cluster, gpus);
  Way out(cluster);
  for (auto const& members : nodes) add_ring_inside(cluster, members, nodes.size() == 1, out);
  if (nodes.size() < 2) return std::move(out).result();
  std::vector<std::vector<Exit>> exits_of;
  for (auto const& members : nodes) exits_of.push_back(exits(cluster, members));
  for (std::size_t n = 0; n < nodes.size(); ++n)
    add_between_nodes(exits_of[n], exits_of[(n + 1) % nodes.size()], out);
  return std::move(out).result();
}

Crossings all_to_all_crossings(Cluster const& cluster, std::vector<int> const& gpus) {
  auto const nodes = by_node(cluster, gpus);
  Way out(cluster);
  if (gpus.size() < 2) return {};
  double const to_each = 1.0 / static_cast<double>(gpus.size() - 1);
  for (auto const& members : nodes) {
    for (int const a : members) {
      for (int const b : members) {
        if (a != b) out.gpu_to_gpu(a, b, to_each);
      }
    }
    double const outside = static_cast<double>(gpus.size() - members.size()) * to_each;
    if (nodes.size() < 2) continue;
    for (int const g : members) {
      auto const nics = exits(cluster, {g});
      double const share = outside / static_cast<double>(nics.size());
      for (Exit const& e : nics) {
        out.gpu_and_nic(g, e.nic, Heading::out, share);
        out.gpu_and_nic(g, e.nic, Heading::in, share);
        out.add(cluster.network.nic[std::size_t(e.nic)].up, share);
        out.add(cluster.network.nic[std::size_t(e.nic)].down, share);
      }
    }
  }
  if (nodes.size() > 1) add_uplinks(cluster, nodes, static_cast<double>(gpus.size()), to_each, out);
  return std::move(out).result();
}

Crossings transfer_crossings(Cluster const& cluster, int from, int to) {
  auto const nodes = by_node(cluster, {from, to});
  Way out(cluster);
  if (nodes.size() == 1) {
    out.gpu_to_gpu(from, to, 1);
  } else {
    add_between_nodes(exits(cluster, {from}), exits(cluster, {to}), out);
  }
  return std::move(out).result();
}

Crossings host_copy_crossings(Cluster const& cluster, int gpu, Direction direction) {
  if (gpu < 0 || gpu >= cluster.spec.gpus()) throw std::logic_error("a GPU outside the cluster");
  Way out(cluster);
  out.gpu_and_memory(gpu, direction == Direction::device_to_host ? Heading::out : Heading::in, 1);
  return std::move(out).result();
}

Crossings outside_crossings(Cluster const& cluster, int gpu, Heading heading) {
  if (gpu < 0 || gpu >= cluster.spec.gpus()) throw std::logic_error("a GPU outside the cluster");
  Way out(cluster);
  auto const nics = exits(cluster, {gpu});
  double const share = 1.0 / static_cast<double>(nics.size());
  for (Exit const& e : nics) {
    out.gpu_and_nic(gpu, e.nic, heading, share);
    out.nic_and_spine(cluster.network, e.nic, heading, share);
  }
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
