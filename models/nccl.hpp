// NCCL's own price of a collective: for each algorithm and protocol latency + bytes / bandwidth, of which it
// takes the least. Uncalibrated: what NCCL believes (nccl_tuning.hpp), not what was measured
// (nccl_prices.hpp).
//
// n ranks on N nodes, r = n / N of them on each; ring speed = intra on one node, else min(intra, inter).
//   steps       all-reduce 2(n-1); all-gather, reduce-scatter, broadcast n-1; of them over the network
//               2(N-1) and N-1
//   ring        base + steps x link latencies (on several nodes at least 1 us a step, Simple 3 us); LL min(ll
//               limit, speed / 2), LL128 min(0.92 speed, channels x limit), Simple speed; as a rate of the
//               buffer x n / steps (broadcast: x 1)
//   tree        all-reduce: base + 2[(r-1) intra + log2(N) network]; Simple min(0.92 speed, channels x
//               limit), LL and LL128 parts of that; x 0.85 with one rank per node; x 1/2. On two nodes the
//               network counts twice: the trees' roots are on different nodes, each cable carries a byte
//               once.
//   NVLS        Hopper and later, NVSwitch, more than two ranks, one node: 25 us; intra x efficiency x
//               (channels-1)/channels; twice that x n / steps for all-reduce
//   NVLSTree    the same on several nodes, all-reduce: 25 us + 2 log2(N) x 20.9 us; also limited by channels
//   x
//               limit and inter (two nodes: twice inter), x n / steps
//   PAT         all-gather, reduce-scatter, one rank per node: base + log2(N) network / 3.5 + 2.8 n; 0.75
//   speed all-to-all, send: LL ring base and one step, the buffer's parts over NVLink and NICs at once
// log2 rounds down, as NCCL does. LL128 needs NVLink.
// Check: tree LL is 6.8 + 14 x 0.6 = 15.2 us on 8 GPUs, 15.2 + 2 x 5 = 25.2 us on two such nodes (measured on
// H100: 15.5 and 25.0).
#pragma once

#include <vector>

#include "models/nccl_tuning.hpp"
#include "models/prices.hpp"

namespace rollcast {

struct NcclTopology {
  NcclGeneration generation = NcclGeneration::ampere;
  bool nvlink = true;    // between the ranks of a node; otherwise PCIe
  bool nvswitch = true;  // NVLS is possible
  int ranks = 1;
  int nodes = 1;
  int channels = 1;
  BytesPerSecond intra;  // ring speed inside the node
  BytesPerSecond inter;  // of the NICs the group reaches; 0 on one node

  int ranks_per_node() const { return (ranks + nodes - 1) / nodes; }
};

// intra: 0.8 of the data sheet's NVLink (NCCL counts 20 of 25 GB/s a link on Ampere, 20.6 of 25 on Hopper,
// 40.1 of 50 on Blackwell); over PCIe 0.75 of the data sheet, two thirds of that where the ring crosses the
// sockets (common figures of NCCL's topology search, unchecked), at most pcie_ring_speed of it. inter: line
// rate x NICs as in collective_price. A group on several nodes whose node has no NIC is a std::logic_error.
NcclTopology nccl_topology(ClusterSpec const& c, Group g);

struct NcclChoice {
  NcclAlgorithm algorithm = NcclAlgorithm::ring;
  NcclProtocol protocol = NcclProtocol::simple;
  Seconds latency;
  BytesPerSecond rate;  // of the buffer, bytes as prices.hpp counts them

  Seconds time(Bytes b) const { return latency + b / rate; }
};

// Every combination that is possible there; never empty for two ranks or more.
std::vector<NcclChoice> nccl_choices(NcclTopology const& t, CollectiveKind kind);

// The least of them.
NcclChoice nccl_best(std::vector<NcclChoice> const& choices, Bytes b);

// Bytes on the slowest link for each byte of the buffer: collective_price's volumes.
double link_volume(NcclTopology const& t, CollectiveKind kind);

}  // namespace rollcast
