// Networks between nodes. The latency is that of one message from NIC to NIC; what NCCL adds on top is the
// profile's business.
#include "models/catalog/tables.hpp"

namespace rollcast {
namespace {

constexpr char const* kIbLatency = "2.68 us of an RDMA write, public log of a Vultr B200 cluster at 400 Gb/s";
constexpr char const* kRoceLatency = "InfiniBand figure plus one more microsecond in the switches; unchecked";
constexpr char const* kSuperPodH100 =
    "NVIDIA DGX SuperPOD H100 reference architecture: 32 nodes per scalable unit, rail-optimized, full "
    "bisection";
constexpr char const* kSuperPodA100 =
    "NVIDIA DGX SuperPOD A100 reference architecture: 20 nodes per scalable unit, rail-optimized, full "
    "bisection";
constexpr char const* kUnchecked = "common knowledge, unchecked";

Fabric make(char const* name, FabricKind kind, double gbit, double latency_us, bool rails, int nodes_per_leaf,
            double oversubscription, std::vector<SourceNote> sources, bool gpu_direct = true) {
  Fabric f;
  f.name = name;
  f.kind = kind;
  f.nic = Gb_per_s(gbit);
  f.latency = us(latency_us);
  f.rail_optimized = rails;
  f.nodes_per_leaf = nodes_per_leaf;
  f.oversubscription = oversubscription;
  f.gpu_direct = gpu_direct;
  f.sources = std::move(sources);
  return f;
}

}  // namespace

std::vector<Fabric> fabric_table() {
  using enum FabricKind;
  return {
      make("ib-400g", infiniband, 400, 2.7, true, 32, 1, {{"latency", kIbLatency}, {"*", kSuperPodH100}}),
      make("ib-200g", infiniband, 200, 2.7, true, 20, 1,
           {{"latency", "as 400 Gb/s InfiniBand, unchecked"}, {"*", kSuperPodA100}}),
      make("ib-100g", infiniband, 100, 2.7, false, 18, 1,
           {{"latency", "as 400 Gb/s InfiniBand, unchecked"},
            {"nodes_per_leaf", "half of the 36 ports of an EDR switch"},
            {"*", kUnchecked}}),
      make("roce-400g", roce, 400, 3.7, true, 32, 1, {{"latency", kRoceLatency}, {"*", kUnchecked}}),
      make("roce-200g", roce, 200, 3.7, true, 32, 1, {{"latency", kRoceLatency}, {"*", kUnchecked}}),
      make("tcpxo", tcp, 200, 58, true, 32, 1,
           {{"nic", "public nccl-tests logs of GCP A3 Mega: 8 x 200 Gb/s GPUDirect-TCPXO"},
            {"latency",
             "derived from public nccl-tests logs: the smallest all-reduce over two nodes takes 135.8 us "
             "against 24.96 "
             "us on InfiniBand; its tree crosses the network twice, so 55 us more per message"},
            {"gpu_direct",
             "Google Cloud GPUDirect page: payload goes from GPU memory to the network card past the host's "
             "memory"},
            {"*", kUnchecked}}),
      make("ethernet-100g", tcp, 100, 30, false, 32, 1,
           {{"latency", "kernel TCP round trips of tens of microseconds; common knowledge, unchecked"},
            {"gpu_direct", "TCP of the kernel sends from host memory; common knowledge, unchecked"},
            {"*", kUnchecked}},
           false),
  };
}

}  // namespace rollcast
