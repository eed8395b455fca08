#include "models/prices.hpp"

#include <algorithm>
#include <stdexcept>

#include "models/kernels.hpp"
#include "models/pcie_ring.hpp"
#include "models/sustained_clock.hpp"

namespace rollcast {
namespace {

constexpr double kStream = 0.9;
constexpr double kAlphaBase = 6.6;      // us, NCCL tuning constants
constexpr double kAlphaStep = 0.6;      // us
constexpr double kAlphaNodeSteps = 14;  // all-reduce of 8 GPUs

int steps_in_node(CollectiveKind kind, int ranks) {
  switch (kind) {
    case CollectiveKind::all_reduce:
      return 2 * (ranks - 1);
    case CollectiveKind::all_gather:
    case CollectiveKind::reduce_scatter:
    case CollectiveKind::broadcast:
      return ranks - 1;
    case CollectiveKind::all_to_all:
    case CollectiveKind::send_recv:
      return 1;
  }
  throw std::logic_error("no such CollectiveKind");
}

double ring_volume(CollectiveKind kind, double n) {
  switch (kind) {
    case CollectiveKind::all_reduce:
      return 2 * (n - 1) / n;
    case CollectiveKind::all_gather:
    case CollectiveKind::reduce_scatter:
    case CollectiveKind::all_to_all:
      return (n - 1) / n;
    case CollectiveKind::broadcast:
    case CollectiveKind::send_recv:
      return 1;
  }
  throw std::logic_error("no such CollectiveKind");
}

int doublings(int nodes) {
  int d = 0;
  while ((std::int64_t{1} << d) < nodes) ++d;
  return d;
}

Seconds network_alpha(Profile const& p, Fabric const& fabric, CollectiveKind kind) {
  double const messages = kind == CollectiveKind::all_reduce ? 2 : 1;
  Seconds const slower = messages * (fabric.latency - Seconds(p.fabric_latency.value));
  return max(Seconds(0), Seconds(p.collective_alpha_network.value) + slower);
}

BytesPerSecond link_in_node(Profile const& p, Node const& node, int ranks) {
  bool const nvlink =
      node.gpu.nvlink.value > 0 && (node.interconnect == Interconnect::nvswitch ||
                                    (node.interconnect == Interconnect::nvlink_pairs && ranks <= 2));
  return nvlink ? node.gpu.nvlink * p.nvlink.value
                : pcie_ring_speed(node, ranks, node.gpu.pcie * p.pcie.value);
}

BytesPerSecond nics_of_group(Profile const& p, ClusterSpec const& c, Group g, int ranks_per_node) {
  Node const& node = c.node;
  BytesPerSecond nic = min(node.nic, c.fabric.nic) * p.network.value;
  if (node.nics <= 0 || nic.value <= 0)
    throw std::logic_error(node.name + " has no NIC for a group on several nodes");
  if (g.nodes > c.fabric.nodes_per_leaf) nic /= c.fabric.oversubscription;
  double const per_gpu = std::max(1.0, static_cast<double>(node.nics) / node.gpus);
  double const reached = std::min<double>(node.nics, per_gpu * ranks_per_node);
  return nic * std::min(reached, static_cast<double>(node.nics) / std::max(1, g.sharing));
}

}  // namespace

GemmKind gemm_kind_of(DType dtype) { return dtype == DType::fp8 ? GemmKind::fp8 : GemmKind::bf16; }

FlopsPerSecond matmul_rate(Profile const& p, DType dtype) {
  FlopsPerSecond const bf16 = p.gpu.bf16 * p.gemm_bf16.value;
  if (dtype == DType::fp8 && p.gpu.fp8.value > 0) return p.gpu.fp8 * p.gemm_fp8.value;
  return dtype == DType::fp32 ? bf16 / 2 : bf16;
}

BytesPerSecond matmul_bandwidth(Profile const& p) { return p.gpu.memory_bandwidth * p.gemm_memory.value; }

Seconds gemm_time(Profile const& p, double m, double n, double k, DType dtype, double clock) {
  Flops const work(2 * m * n * k);
  Bytes const moved = size_of(dtype) * (m * k + n * k + m * n);
  GemmKind const kind = gemm_kind_of(dtype);
  if (GemmPrices const* measured = p.kernels ? p.kernels->gemm(kind) : nullptr) {
    double const halves = dtype == DType::fp32 ? 2 : 1;
    return sustained_time(measured->at(m, n, k), p.gpu, kind, m, n, k, clock) * halves;
  }
  return max(work / (matmul_rate(p, dtype) * clock), moved / matmul_bandwidth(p));
}

Seconds gemm_time_of_kind(Profile const& p, double m, double n, double k, GemmKind kind, double clock) {
  GemmPrices const* measured = p.kernels ? p.kernels->gemm(kind) : nullptr;
  if (measured == nullptr)
    return gemm_time(p, m, n, k, kind == GemmKind::bf16 ? DType::bf16 : DType::fp8, clock);
  return sustained_time(measured->at(m, n, k), p.gpu, kind, m, n, k, clock);
}

Seconds memory_time(Profile const& p, Bytes moved) {
  return moved / (p.gpu.memory_bandwidth * p.memory_pass.value);
}

Seconds stream_time(Profile const& p, Bytes moved) {
  return moved / (p.gpu.memory_bandwidth * (kStream / other_prices(p).streams));
}

Seconds copy_time(Profile const& p, Bytes moved, Direction) { return moved / (p.gpu.pcie * p.pcie.value); }

std::string_view name_of(CollectiveKind k) {
  switch (k) {
    case CollectiveKind::all_reduce:
      return "all_reduce";
    case CollectiveKind::all_gather:
      return "all_gather";
    case CollectiveKind::reduce_scatter:
      return "reduce_scatter";
    case CollectiveKind::broadcast:
      return "broadcast";
    case CollectiveKind::all_to_all:
      return "all_to_all";
    case CollectiveKind::send_recv:
      return "send_recv";
  }
  throw std::logic_error("no such CollectiveKind");
}

Group placed_group(ClusterSpec const& c, int ranks, int stride) {
  Group g;
  g.ranks = ranks;
  int const per_node = std::max(1, c.node.gpus / stride);  // ranks of the group on one node
  g.nodes = (ranks + per_node - 1) / per_node;
  if (g.nodes > 1) g.sharing = std::max(1, c.node.gpus / std::min(per_node, ranks));
  return g;
}

CollectivePrice collective_price(Profile const& p, ClusterSpec const& c, CollectiveKind kind, Group g,
                                 Bytes bytes) {
  CollectivePrice price;
  if (g.ranks <= 1) return price;
  int const nodes = std::max(1, g.nodes);
  int const per_node = (g.ranks + nodes - 1) / nodes;

  if (per_node > 1) {
    double const steps = steps_in_node(kind, per_node);
    price.alpha = Seconds(p.collective_alpha_node.value) * (kAlphaBase + kAlphaStep * steps) /
                  (kAlphaBase + kAlphaStep * kAlphaNodeSteps);
  } else {
    price.alpha =
        Seconds(p.collective_alpha_node.value) * kAlphaBase / (kAlphaBase + kAlphaStep * kAlphaNodeSteps);
  }
  price.alpha += network_alpha(p, c.fabric, kind) * doublings(nodes);

  BytesPerSecond const inside = link_in_node(p, c.node, per_node);
  if (nodes == 1) {
    price.bytes_per_link = bytes * ring_volume(kind, g.ranks);
    price.bandwidth = inside;
    return price;
  }
  BytesPerSecond const nics = nics_of_group(p, c, g, per_node);
  if (kind == CollectiveKind::all_to_all) {
    double const n = g.ranks;
    Bytes const in_node = bytes * ((per_node - 1) / n);
    Bytes const out = bytes * (per_node * (n - per_node) / n);
    bool const network_is_slower = in_node / inside < out / nics;
    price.bytes_per_link = network_is_slower ? out : in_node;
    price.bandwidth = network_is_slower ? nics : inside;
    return price;
  }
  price.bytes_per_link = bytes * ring_volume(kind, g.ranks);
  price.bandwidth = per_node > 1 ? min(inside, nics) : nics;
  return price;
}

}  // namespace rollcast
