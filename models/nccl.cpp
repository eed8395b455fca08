#include "models/nccl.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "models/pcie_ring.hpp"

namespace rollcast {
namespace {

constexpr double kNvlinkShare = 0.8;
constexpr double kPcieShare = 0.75;
constexpr double kAcrossSockets = 2.0 / 3.0;

int log2_down(int n) {
  int d = 0;
  while (n >>= 1) ++d;
  return d;
}

std::size_t node_column(int nodes) { return static_cast<std::size_t>(std::clamp(nodes, 1, 3) - 1); }

struct Steps {
  int all = 1;
  int network = 0;
};

Steps steps_of(NcclTopology const& t, CollectiveKind kind) {
  int const twice = kind == CollectiveKind::all_reduce ? 2 : 1;
  return {twice * (t.ranks - 1), twice * (t.nodes - 1)};
}

double local_latency(NcclTopology const& t, NcclAlgorithm a, NcclProtocol p) {
  double const link = nccl_link_latency(t.nvlink ? NcclLink::nvlink : NcclLink::pci, a, p);
  if (a != NcclAlgorithm::ring || t.nodes == 1) return link;
  return std::max(link, kNcclNetworkStep * (p == NcclProtocol::simple ? 3 : 1));
}

double latency(NcclTopology const& t, NcclAlgorithm a, NcclProtocol p, int intra, int network) {
  return nccl_base_latency(a, p) + intra * local_latency(t, a, p) +
         network * nccl_link_latency(NcclLink::network, a, p);
}

NcclChoice make(NcclAlgorithm a, NcclProtocol p, double latency_us, double rate) {
  return {a, p, us(latency_us), GB_per_s(rate)};
}

double in_gb(BytesPerSecond r) { return r.value * 1e-9; }

double ring_speed(NcclTopology const& t) { return in_gb(t.nodes > 1 ? min(t.intra, t.inter) : t.intra); }

void add_ring(NcclTopology const& t, CollectiveKind kind, std::vector<NcclChoice>& out) {
  NcclLimits const& limit = nccl_limits(t.generation);
  Steps const s = steps_of(t, kind);
  double const speed = ring_speed(t);
  double const to_buffer = kind == CollectiveKind::broadcast ? 1 : static_cast<double>(t.ranks) / s.all;
  for (NcclProtocol const p : kNcclProtocols) {
    if (p == NcclProtocol::ll128 && !t.nvlink) continue;
    double rate = speed;
    if (p == NcclProtocol::ll) rate = std::min(limit.ll[node_column(t.nodes)], kNcclRingLl * speed);
    if (p == NcclProtocol::ll128)
      rate = std::min(kNcclRingLl128 * speed, t.channels * limit.ring_ll128_channel[node_column(t.nodes)]);
    out.push_back(make(NcclAlgorithm::ring, p,
                       latency(t, NcclAlgorithm::ring, p, s.all - s.network, s.network), rate * to_buffer));
  }
}

void add_tree(NcclTopology const& t, std::vector<NcclChoice>& out) {
  NcclLimits const& limit = nccl_limits(t.generation);
  std::size_t const column = node_column(t.nodes);
  double const speed = t.nodes == 2 ? in_gb(min(t.intra, 2 * t.inter)) : ring_speed(t);
  double const simple = std::min(kNcclTreeSimple * speed, t.channels * limit.tree_channel[column]);
  for (NcclProtocol const p : kNcclProtocols) {
    if (p == NcclProtocol::ll128 && !t.nvlink) continue;
    double rate = simple;
    if (p == NcclProtocol::ll) rate = std::min(kNcclTreeLl * simple, limit.ll[column]);
    if (p == NcclProtocol::ll128)
      rate = std::min((t.nodes == 1 ? kNcclTreeLl128OneNode : kNcclTreeLl128) * simple,
                      t.channels * limit.tree_ll128_channel[column]);
    if (t.ranks_per_node() == 1) rate *= kNcclBareTree;
    double const wait =
        latency(t, NcclAlgorithm::tree, p, 2 * (t.ranks_per_node() - 1), 2 * log2_down(t.nodes));
    out.push_back(make(NcclAlgorithm::tree, p, wait, rate / 2));
  }
}

void add_nvls(NcclTopology const& t, CollectiveKind kind, std::vector<NcclChoice>& out) {
  NcclLimits const& limit = nccl_limits(t.generation);
  if (!t.nvswitch || t.ranks_per_node() <= 2 || limit.nvls_efficiency <= 0) return;
  double const inside = in_gb(t.intra) * limit.nvls_efficiency * (t.channels - 1) / t.channels;
  // All-reduce: twice the speed times n / (2 (n - 1)); others: (n - 1) / n of it times n / (n - 1).
  double const to_buffer = kind == CollectiveKind::all_reduce ? t.ranks / (t.ranks - 1.0) : 1;
  if (t.nodes == 1) {
    if (kind == CollectiveKind::broadcast) return;
    out.push_back(make(NcclAlgorithm::nvls, NcclProtocol::simple,
                       latency(t, NcclAlgorithm::nvls, NcclProtocol::simple, 1, 0), inside * to_buffer));
    return;
  }
  if (kind != CollectiveKind::all_reduce) return;
  double const network = in_gb(t.inter) / (t.nodes == 2 ? 1 : 2);
  double const channels = t.channels * limit.nvls_tree_channel[node_column(t.nodes)] / 2;
  out.push_back(make(NcclAlgorithm::nvls_tree, NcclProtocol::simple,
                     latency(t, NcclAlgorithm::nvls_tree, NcclProtocol::simple, 1, 2 * log2_down(t.nodes)),
                     std::min({inside, network, channels}) * to_buffer));
}

void add_pat(NcclTopology const& t, std::vector<NcclChoice>& out) {
  if (t.nodes < 2 || t.ranks_per_node() > 1) return;
  double const wait = nccl_base_latency(NcclAlgorithm::pat, NcclProtocol::simple) +
                      log2_down(t.nodes) *
                          nccl_link_latency(NcclLink::network, NcclAlgorithm::pat, NcclProtocol::simple) /
                          kNcclPatNetwork +
                      kNcclPatStep * t.ranks;
  out.push_back(make(NcclAlgorithm::pat, NcclProtocol::simple, wait,
                     kNcclPat * ring_speed(t) * t.ranks / (t.ranks - 1)));
}

// Shares of an all-to-all's buffer: of one rank to its node, of a node's ranks to other nodes.
double share_inside(NcclTopology const& t) { return (t.ranks_per_node() - 1.0) / t.ranks; }
double share_outside(NcclTopology const& t) {
  double const r = t.ranks_per_node();
  return r * (t.ranks - r) / t.ranks;
}

void add_direct(NcclTopology const& t, CollectiveKind kind, std::vector<NcclChoice>& out) {
  int const network = t.nodes > 1 ? 1 : 0;
  double rate = ring_speed(t);
  if (kind == CollectiveKind::all_to_all) {
    double const inside = share_inside(t), outside = network * share_outside(t);
    double seconds_per_gb = 0;
    if (inside > 0) seconds_per_gb = inside / in_gb(t.intra);
    if (outside > 0) seconds_per_gb = std::max(seconds_per_gb, outside / in_gb(t.inter));
    rate = 1 / seconds_per_gb;
  }
  out.push_back(make(NcclAlgorithm::ring, NcclProtocol::ll,
                     latency(t, NcclAlgorithm::ring, NcclProtocol::ll, 1, network), rate));
}

}  // namespace

NcclTopology nccl_topology(ClusterSpec const& c, Group g) {
  Node const& node = c.node;
  NcclTopology t;
  t.generation = nccl_generation(node.gpu.name);
  t.ranks = std::max(1, g.ranks);
  t.nodes = std::max(1, g.nodes);
  int const local = t.ranks_per_node();
  t.nvswitch = node.interconnect == Interconnect::nvswitch && node.gpu.nvlink.value > 0;
  t.nvlink = t.nvswitch ||
             (node.interconnect == Interconnect::nvlink_pairs && local <= 2 && node.gpu.nvlink.value > 0);
  if (t.nvlink) {
    t.intra = node.gpu.nvlink * kNvlinkShare;
  } else {
    bool const crosses = local * std::max(1, node.numa_nodes) > node.gpus;
    t.intra = min(node.gpu.pcie * (crosses ? kPcieShare * kAcrossSockets : kPcieShare),
                  pcie_ring_speed(node, local, node.gpu.pcie * kPcieShare));
  }
  t.channels = std::max(2, static_cast<int>(std::lround(in_gb(t.intra) / nccl_channel_speed(t.generation))));
  if (t.nodes == 1) return t;
  BytesPerSecond nic = min(node.nic, c.fabric.nic);
  if (node.nics <= 0 || nic.value <= 0)
    throw std::logic_error(node.name + " has no NIC for a group on several nodes");
  if (t.nodes > c.fabric.nodes_per_leaf) nic /= c.fabric.oversubscription;
  double const per_gpu = std::max(1.0, static_cast<double>(node.nics) / node.gpus);
  double const reached = std::min<double>(node.nics, per_gpu * local);
  t.inter = nic * std::min(reached, static_cast<double>(node.nics) / std::max(1, g.sharing));
  return t;
}

std::vector<NcclChoice> nccl_choices(NcclTopology const& t, CollectiveKind kind) {
  std::vector<NcclChoice> out;
  if (t.ranks < 2) return out;
  if (kind == CollectiveKind::all_to_all || kind == CollectiveKind::send_recv) {
    add_direct(t, kind, out);
    return out;
  }
  add_ring(t, kind, out);
  add_nvls(t, kind, out);
  if (kind == CollectiveKind::all_reduce) add_tree(t, out);
  if (kind == CollectiveKind::all_gather || kind == CollectiveKind::reduce_scatter) add_pat(t, out);
  return out;
}

NcclChoice nccl_best(std::vector<NcclChoice> const& choices, Bytes b) {
  if (choices.empty()) throw std::logic_error("no algorithm for a group of one");
  NcclChoice best = choices.front();
  for (NcclChoice const& c : choices) {
    if (c.time(b) < best.time(b)) best = c;
  }
  return best;
}

double link_volume(NcclTopology const& t, CollectiveKind kind) {
  double const n = t.ranks;
  switch (kind) {
    case CollectiveKind::all_reduce:
      return 2 * (n - 1) / n;
    case CollectiveKind::all_gather:
    case CollectiveKind::reduce_scatter:
      return (n - 1) / n;
    case CollectiveKind::broadcast:
    case CollectiveKind::send_recv:
      return 1;
    case CollectiveKind::all_to_all: {
      if (t.nodes == 1) return (n - 1) / n;
      bool const network = share_inside(t) / t.intra.value < share_outside(t) / t.inter.value;
      return network ? share_outside(t) : share_inside(t);
    }
  }
  throw std::logic_error("no such CollectiveKind");
}

}  // namespace rollcast
