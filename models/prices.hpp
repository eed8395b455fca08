// Prices of single operations on one GPU, and of collectives alone on the network. Pure; data-sheet roofline
// times the profile's shares.
#pragma once

#include <cstdint>

#include "models/architecture.hpp"
#include "models/job.hpp"
#include "models/profile.hpp"

namespace rollcast {

// y[m,n] = x[m,k] W[n,k]^T. max(compute, memory) of the roofline:
// 2mnk / (gemm share x peak), (mk + nk + mn) x element / (gemm_memory share x bandwidth).
Seconds gemm_time(Profile const& p, double m, double n, double k, DType dtype);

// A kernel that only moves bytes: bytes / (memory_pass share x bandwidth).
Seconds memory_time(Profile const& p, Bytes moved);

enum class Direction { host_to_device, device_to_host };
// Pinned copy over PCIe, the link not shared.
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

// alpha (paid as delay) and beta (bytes per link over bandwidth). For a group of one: both zero.
struct CollectivePrice {
  Seconds alpha;
  Bytes bytes_per_link;      // what crosses the slowest link: all-reduce 2(n-1)/n x bytes, ...
  BytesPerSecond bandwidth;  // of that link, achieved

  Seconds total() const {
    return alpha + (bytes_per_link.value > 0 ? bytes_per_link / bandwidth : Seconds(0));
  }
};
CollectivePrice collective_price(Profile const& p, ClusterSpec const& c, CollectiveKind kind, Group g,
                                 Bytes bytes);

}  // namespace rollcast
