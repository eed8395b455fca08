// Prices of single operations on one GPU, and of collectives alone on the network. Pure; the profile's
// measured tables, else data-sheet roofline times its shares.
#pragma once

#include <cstdint>
#include <string_view>

#include "models/architecture.hpp"
#include "models/gemm_table.hpp"
#include "models/job.hpp"
#include "models/profile.hpp"

namespace rollcast {

// fp8: scaled per tensor. fp32 has no table of its own (twice bf16).
GemmKind gemm_kind_of(DType dtype);

// Achieved rates. A card without fp8 units runs fp8 products at the bf16 rate, fp32 ones (TF32) at half of
// it.
FlopsPerSecond matmul_rate(Profile const& p, DType dtype);
BytesPerSecond matmul_bandwidth(Profile const& p);

// y[m,n] = x[m,k] W[n,k]^T. Measured (fp32: twice the bf16 time), else max(compute, memory) of the roofline:
// 2mnk / (gemm share x peak), (mk + nk + mn) x element / (gemm_memory share x bandwidth).
// clock: matrix rate over its burst rate; a measured time is slowed by it as sustained_time has it.
Seconds gemm_time(Profile const& p, double m, double n, double k, DType dtype, double clock = 1);

// The same of a kind of scaling (fp8 per tensor or per block). Without a table of that kind as gemm_time of
// fp8 or bf16.
Seconds gemm_time_of_kind(Profile const& p, double m, double n, double k, GemmKind kind, double clock);

// A kernel that only moves bytes: bytes / (memory_pass share x bandwidth).
Seconds memory_time(Profile const& p, Bytes moved);

// Large element-wise kernels that stream: bytes / (0.9 x bandwidth). torch's residual add in the tables of
// vidur: 0.87 of the data sheet on A100, 0.99 on H100 where a part came out of the L2; a copy of 1 GB on H100
// 3.02 of 3.35 TB/s.
Seconds stream_time(Profile const& p, Bytes moved);

enum class Direction { host_to_device, device_to_host };
// Pinned copy over PCIe, the link not shared. Both directions are measured alike (55.4 and 55.2 GB/s on
// H100).
Seconds copy_time(Profile const& p, Bytes moved, Direction d);

// Collectives. bytes as nccl-tests counts them: all-reduce, broadcast, send: the buffer; all-gather,
// reduce-scatter: the total over ranks; all-to-all: the buffer of one rank.
enum class CollectiveKind { all_reduce, all_gather, reduce_scatter, broadcast, all_to_all, send_recv };
std::string_view name_of(CollectiveKind k);

// A group of ranks as the collective sees it: how many, and on how many nodes. ranks_per_node of them share
// the node's NICs among `sharing` such groups that run at the same time on each node.
struct Group {
  int ranks = 1;
  int nodes = 1;
  int sharing = 1;
};

// The group of `ranks` ranks whose global rank numbers are `stride` apart (tensor parallel: 1, context
// parallel: tp, ...), nodes filled in order; on several nodes it shares their NICs with the groups of the
// other ranks there.
Group placed_group(ClusterSpec const& c, int ranks, int stride);

// alpha (paid as delay) and beta (bytes per link over bandwidth). For a group of one: both zero.
struct CollectivePrice {
  Seconds alpha;
  Bytes bytes_per_link;      // what crosses the slowest link: all-reduce 2(n-1)/n x bytes, ...
  BytesPerSecond bandwidth;  // of that link, achieved

  Seconds total() const {
    return alpha + (bytes_per_link.value > 0 ? bytes_per_link / bandwidth : Seconds(0));
  }
};

// alpha = collective_alpha_node x (6.6 + 0.6 steps) / (6.6 + 0.6 x 14) + network per doubling of nodes,
// rounded up. network = collective_alpha_network + messages x (the fabric's latency - that of the profile's
// network), at least 0; messages one after the other: 2 for all-reduce (up and down a tree), 1 otherwise.
// steps inside the node: 2(r-1) for all-reduce, r-1 for all-gather,
// reduce-scatter and broadcast, 1 otherwise (6.6 and 0.6 us: NCCL's own base and per-step latency; 14 steps
// are 8 GPUs).
//
// Bytes: ring volumes, all-reduce 2(n-1)/n, all-gather, reduce-scatter (n-1)/n, broadcast and send 1, and the
// slower of NVLink (or PCIe) inside the node and the group's NICs. An all-to-all is split: (r-1)/n x bytes
// inside the node, r x (n-r)/n x bytes through the group's NICs; the slower part is told.
// The group's NICs: as many as its ranks reach (NICs per GPU, at least one each), but not more than the
// node's divided by `sharing`; beyond one leaf of the fabric divided by its oversubscription.
// Over PCIe inside the node: pcie_ring_speed (pcie_ring.hpp).
// A group on several nodes whose node has no NIC is a std::logic_error.
CollectivePrice collective_price(Profile const& p, ClusterSpec const& c, CollectiveKind kind, Group g,
                                 Bytes bytes);

}  // namespace rollcast
