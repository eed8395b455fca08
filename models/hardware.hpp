// What a cluster is made of: GPU, node, fabric. Figures are data-sheet or visible values; what a program
// achieves of them is the Profile's business (profile.hpp).
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "models/units.hpp"

namespace rollcast {

// Where a number comes from. field "*" covers every field that has no note of its own.
struct SourceNote {
  std::string field;
  std::string source;
};

struct Gpu {
  std::string name;                 // catalog key: "h100-sxm"
  FlopsPerSecond bf16;              // dense matrix rate (fp16 on cards without bf16)
  FlopsPerSecond fp8;               // dense; 0: the card has no fp8
  Bytes memory_on_the_box;          // the name: "80 GB"
  Bytes visible_memory;             // what a process sees; every forecast uses this one
  BytesPerSecond memory_bandwidth;  // HBM or GDDR, data sheet
  Bytes l2;
  int sms = 0;
  BytesPerSecond nvlink;        // per direction, all links of the GPU together; 0: none
  BytesPerSecond pcie;          // per direction, data sheet
  double dollars_per_hour = 0;  // rent of one GPU with its share of the node; 0: not known
  std::vector<SourceNote> sources;
};

// Equal matrix rates and memory bandwidth: kernels take the same time on both.
bool same_rates(Gpu const& a, Gpu const& b);

enum class Interconnect {
  nvswitch,      // any pair at full NVLink speed
  nvlink_pairs,  // bridges between neighbours, the rest over PCIe
  pcie,          // through PCIe switches and the host
};

struct Node {
  std::string name;  // catalog key: "hgx-h100"
  Gpu gpu;
  int gpus = 0;
  Interconnect interconnect = Interconnect::nvswitch;
  int gpus_per_pcie_switch = 2;
  int numa_nodes = 2;
  int nics = 0;        // for training traffic
  BytesPerSecond nic;  // each, per direction
  Bytes host_memory;
  BytesPerSecond host_memory_bandwidth;  // per NUMA node
  std::string fabric;                    // catalog key of the fabric it usually comes with
  // Other GPUs and NICs reach a GPU's memory over PCIe. false (GeForce): what leaves a GPU over PCIe goes
  // through the memory of the host.
  bool peer_access = true;
  // Hosts that NVLink makes one node (NVL72: 18). GPUs, NUMA nodes, NICs and drives are theirs in equal
  // parts.
  int trays = 1;
  BytesPerSecond nic_slot;     // PCIe of a NIC, per direction; 0: as wide as a GPU's
  int storage_nics = 0;        // for the second network (ClusterSpec::storage_fabric), on the NUMA nodes
  BytesPerSecond storage_nic;  // each, per direction
  BytesPerSecond nvme_read;    // local drives, all together; 0: none
  BytesPerSecond nvme_write;
  std::vector<SourceNote> sources;
};

enum class FabricKind { infiniband, roce, tcp };

struct Fabric {
  std::string name;  // catalog key: "ib-400g"
  FabricKind kind = FabricKind::infiniband;
  BytesPerSecond nic;          // per NIC and direction; a cluster uses the smaller of this and the node's
  Seconds latency;             // one message, NIC to NIC
  bool rail_optimized = true;  // NIC i of every node on leaf i
  int nodes_per_leaf = 32;
  double oversubscription = 1;  // leaf down-links over up-links
  bool gpu_direct = true;       // NICs reach GPU memory (RDMA, GPUDirect-TCPXO); false: host memory alone
  std::vector<SourceNote> sources;
};

// A file system that all nodes share: what it gives to all of them together.
struct SharedStorage {
  BytesPerSecond read;  // 0: there is none
  BytesPerSecond write;
};

// A cluster of equal nodes. Pools of different nodes come with the disaggregated placements.
struct ClusterSpec {
  Node node;
  int nodes = 1;
  Fabric fabric;
  std::optional<Fabric> storage_fabric{};  // second network, reached by Node::storage_nics
  SharedStorage storage{};                 // behind the second network, else behind `fabric`

  // At most the largest int: what a file says is counted before it is checked.
  int gpus() const {
    std::int64_t const all = std::int64_t{nodes} * node.gpus;
    return static_cast<int>(std::min<std::int64_t>(all, std::numeric_limits<int>::max()));
  }
};

}  // namespace rollcast
