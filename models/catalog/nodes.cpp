// Servers. Each is the usual build of its kind; a cluster that differs overrides the field. Host bandwidth is
// channels x transfer rate x 8 bytes of one socket.
#include <stdexcept>

#include "models/catalog/tables.hpp"

namespace rollcast {
namespace {

constexpr double kDdr5_5600 = 8 * 44.8;  // GB/s of a socket with 8 channels
constexpr double kDdr5_4800 = 8 * 38.4;
constexpr double kDdr4_3200 = 8 * 25.6;
constexpr double kDdr4_2400 = 4 * 19.2;
constexpr double kDdr4_2933 = 6 * 23.464;

constexpr double kDriveRead = 6.5;  // GB/s of an NVMe drive on four PCIe 4.0 lanes, assumed
constexpr double kDriveWrite = 3.5;

constexpr char const* kDgxH100 =
    "NVIDIA DGX H100/H200 user guide: 8 ConnectX-7 at 400 Gb/s, 2 sockets, 2 TB (32 x 64 GiB)";
constexpr char const* kDgxA100 = "NVIDIA DGX A100 user guide: 8 ConnectX-6 at 200 Gb/s, 2 sockets";
constexpr char const* kOwnSwitchH100 =
    "NVIDIA/nccl issue 1264, nvidia-smi topo of an HGX H100: each GPU shares a PCIe switch with one NIC and "
    "no other GPU";
constexpr char const* kOwnSwitchH200 =
    "NVIDIA/nccl-tests issue 256, NCCL topology of an HGX H200: a Gen5 x16 PCIe switch for each GPU and its "
    "NIC";
constexpr char const* kOwnSwitchB200 =
    "vllm-project/vllm issue 42186, nvidia-smi topo of a B200 server: neighbouring GPUs share no PCIe switch";
constexpr char const* kSharedSwitchA100 =
    "NVIDIA/nvbandwidth issue 53, nvidia-smi topo of 8 A100-SXM4: GPUs 0 and 1 under one PCIe switch";
constexpr char const* kDgxStorage =
    "NVIDIA/mlperf-common pull request 7, description of a DGX H100: for storage 2 ConnectX-7 at 400 Gb/s";
constexpr char const* kDgxB200Storage =
    "NVIDIA DGX BasePOD reference architecture: 2 BlueField-3 cards at up to 400 Gb/s for storage and "
    "management";
constexpr char const* kGb200Storage =
    "NVIDIA GB200 NVL multi-node tuning guide: 2 BlueField-3 per compute tray, 400 Gb/s to the external "
    "network";
constexpr char const* kDgxDrives =
    "NVIDIA DGX BasePOD reference architecture: eight 3.84 TB U.2 NVMe drives; 6.5 GB/s read and 3.5 GB/s "
    "written by each, assumed";
constexpr char const* kB200Drives = "as DGX H100: eight drives at 6.5 and 3.5 GB/s, assumed";
constexpr char const* kGb200Drives =
    "NVIDIA enterprise reference architecture of the NVL72: 4 E1.S NVMe drives per compute tray; 6.5 and "
    "3.5 GB/s each assumed";
constexpr char const* kGraceSlot = "PCIe 5.0 x16 of the Grace CPU; common knowledge, unchecked";
constexpr char const* kNoPeerAccess =
    "tinygrad/open-gpu-kernel-modules issue 28: the vendor's driver gives RTX 4090 cards no access to each "
    "other's memory";
constexpr char const* kSharedSwitch4090 =
    "NVIDIA/nccl-tests issue 307, NCCL topology of 8 RTX 4090: four cards under one PCIe switch of each of 2 "
    "CPUs";
constexpr char const* kUnchecked = "usual build of this server; common knowledge, unchecked";
constexpr char const* kOneSocket = "usual build of a workstation; common knowledge, unchecked";

// What most rows leave at its default.
struct Extras {
  bool peer_access = true;
  int trays = 1;
  double nic_slot = 0;  // GB/s
  int storage_nics = 0;
  double storage_gbit = 0;
  int drives = 0;
};

struct Row {
  char const* name;
  char const* gpu;
  int gpus;
  Interconnect interconnect;
  int per_switch, numa;
  int nics;
  double nic_gbit;
  double host_gib;
  double host_gbs;  // per NUMA node
  char const* fabric;
  std::vector<SourceNote> sources;
  Extras extras{};
};

Gpu const& gpu_named(std::vector<Gpu> const& gpus, std::string const& name) {
  for (Gpu const& g : gpus) {
    if (g.name == name) return g;
  }
  throw std::logic_error("the node table names a GPU that is not in the GPU table: " + name);
}

Node make(Row const& r, std::vector<Gpu> const& gpus) {
  Node n;
  n.name = r.name;
  n.gpu = gpu_named(gpus, r.gpu);
  n.gpus = r.gpus;
  n.interconnect = r.interconnect;
  n.gpus_per_pcie_switch = r.per_switch;
  n.numa_nodes = r.numa;
  n.nics = r.nics;
  n.nic = Gb_per_s(r.nic_gbit);
  n.host_memory = GiB(r.host_gib);
  n.host_memory_bandwidth = GB_per_s(r.host_gbs);
  n.fabric = r.fabric;
  n.peer_access = r.extras.peer_access;
  n.trays = r.extras.trays;
  n.nic_slot = GB_per_s(r.extras.nic_slot);
  n.storage_nics = r.extras.storage_nics;
  n.storage_nic = Gb_per_s(r.extras.storage_gbit);
  n.nvme_read = GB_per_s(kDriveRead * r.extras.drives);
  n.nvme_write = GB_per_s(kDriveWrite * r.extras.drives);
  n.sources = r.sources;
  return n;
}

}  // namespace

std::vector<Node> node_table(std::vector<Gpu> const& gpus) {
  using enum Interconnect;
  std::vector<Row> const rows = {
      // name, gpu, gpus, interconnect, GPUs per PCIe switch, NUMA nodes, NICs, Gb/s each, host GiB, GB/s,
      // fabric
      {"hgx-h100",
       "h100-sxm",
       8,
       nvswitch,
       1,
       2,
       8,
       400,
       2048,
       kDdr5_4800,
       "ib-400g",
       {{"gpus_per_pcie_switch", kOwnSwitchH100},
        {"storage_nics", kDgxStorage},
        {"storage_nic", kDgxStorage},
        {"nvme_read", kDgxDrives},
        {"nvme_write", kDgxDrives},
        {"*", kDgxH100}},
       {.storage_nics = 2, .storage_gbit = 400, .drives = 8}},
      {"hgx-h200",
       "h200-sxm",
       8,
       nvswitch,
       1,
       2,
       8,
       400,
       2048,
       kDdr5_4800,
       "ib-400g",
       {{"gpus_per_pcie_switch", kOwnSwitchH200},
        {"storage_nics", kDgxStorage},
        {"storage_nic", kDgxStorage},
        {"nvme_read", kDgxDrives},
        {"nvme_write", kDgxDrives},
        {"*", kDgxH100}},
       {.storage_nics = 2, .storage_gbit = 400, .drives = 8}},
      {"hgx-a100",
       "a100-sxm-80gb",
       8,
       nvswitch,
       2,
       2,
       8,
       200,
       2048,
       kDdr4_3200,
       "ib-200g",
       {{"gpus_per_pcie_switch", kSharedSwitchA100}, {"*", kDgxA100}}},
      {"hgx-a100-40gb",
       "a100-sxm-40gb",
       8,
       nvswitch,
       2,
       2,
       8,
       200,
       1024,
       kDdr4_3200,
       "ib-200g",
       {{"gpus_per_pcie_switch", kSharedSwitchA100}, {"*", kDgxA100}}},
      {"hgx-h800",
       "h800-sxm",
       8,
       nvswitch,
       2,
       2,
       8,
       400,
       2048,
       kDdr5_4800,
       "ib-400g",
       {{"nics", "DeepSeek-V3 report and DeepEP: one ConnectX-7 at 400 Gb/s per GPU"},
        {"nic", "DeepSeek-V3 report and DeepEP: one ConnectX-7 at 400 Gb/s per GPU"},
        {"*", kUnchecked}}},
      {"hgx-a800",
       "a800-sxm-80gb",
       8,
       nvswitch,
       2,
       2,
       8,
       200,
       1024,
       kDdr4_3200,
       "ib-200g",
       {{"*", kUnchecked}}},
      {"hgx-h20", "h20-sxm", 8, nvswitch, 2, 2, 8, 400, 2048, kDdr5_4800, "roce-400g", {{"*", kUnchecked}}},
      {"hgx-b200",
       "b200-sxm",
       8,
       nvswitch,
       1,
       2,
       8,
       400,
       2048,
       kDdr5_5600,
       "ib-400g",
       {{"gpus_per_pcie_switch", kOwnSwitchB200},
        {"storage_nics", kDgxB200Storage},
        {"storage_nic", kDgxB200Storage},
        {"nvme_read", kB200Drives},
        {"nvme_write", kB200Drives},
        {"*", "NVIDIA DGX B200 data sheet: 8 ConnectX-7 ports at 400 Gb/s, 2 sockets, 2 TB (32 x 64 GiB)"}},
       {.storage_nics = 2, .storage_gbit = 400, .drives = 8}},
      {"gb200-tray",
       "gb200",
       4,
       nvswitch,
       1,
       2,
       4,
       400,
       894,
       512,
       "ib-400g",
       {{"gpus",
         "one compute tray of an NVL72 rack: 2 Grace, 4 GPUs; NVLink between trays is left out, use "
         "gb200-nvl72 for that"},
        {"storage_nics", kGb200Storage},
        {"storage_nic", kGb200Storage},
        {"nvme_read", kGb200Drives},
        {"nvme_write", kGb200Drives},
        {"nic_slot", kGraceSlot},
        {"*", "NVIDIA GB200 NVL72 data sheet: 480 GB of LPDDR5X at up to 512 GB/s per Grace"}},
       {.nic_slot = 64, .storage_nics = 2, .storage_gbit = 400, .drives = 4}},
      {"gb200-nvl72",
       "gb200",
       72,
       nvswitch,
       1,
       36,
       72,
       400,
       16093,
       512,
       "ib-400g",
       {{"gpus", "one NVLink domain of 72 GPUs in 18 compute trays, taken as one node"},
        {"trays", "NVIDIA DGX GB200 user guide: 18 compute trays of 2 Grace and 4 GPUs"},
        {"storage_nics", kGb200Storage},
        {"storage_nic", kGb200Storage},
        {"nvme_read", kGb200Drives},
        {"nvme_write", kGb200Drives},
        {"nic_slot", kGraceSlot},
        {"*", "NVIDIA GB200 NVL72 data sheet: 480 GB of LPDDR5X at up to 512 GB/s per Grace"}},
       {.trays = 18, .nic_slot = 64, .storage_nics = 36, .storage_gbit = 400, .drives = 72}},
      {"gcp-a3-mega",
       "h100-sxm",
       8,
       nvswitch,
       2,
       2,
       8,
       200,
       1872,
       kDdr5_4800,
       "tcpxo",
       {{"nics", "public nccl-tests logs of A3 Mega: 8 x 200 Gb/s GPUDirect-TCPXO"},
        {"nic", "public nccl-tests logs of A3 Mega: 8 x 200 Gb/s GPUDirect-TCPXO"},
        {"storage_nics",
         "Google Cloud GPUDirect page: 1,800 Gb/s of an A3 Mega in all, eight times 200 of them for the "
         "GPUs"},
        {"storage_nic",
         "Google Cloud GPUDirect page: 1,800 Gb/s of an A3 Mega in all, eight times 200 of them for the "
         "GPUs"},
        {"*", "Google Cloud a3-megagpu-8g machine type; common knowledge, unchecked"}},
       {.storage_nics = 1, .storage_gbit = 200}},
      {"pcie-h100",
       "h100-pcie",
       8,
       nvlink_pairs,
       4,
       2,
       4,
       400,
       1024,
       kDdr5_4800,
       "ib-400g",
       {{"*", kUnchecked}}},
      {"pcie-a100",
       "a100-pcie-80gb",
       8,
       nvlink_pairs,
       4,
       2,
       4,
       200,
       1024,
       kDdr4_3200,
       "ib-200g",
       {{"*", kUnchecked}}},
      {"pcie-l40s",
       "l40s",
       8,
       pcie,
       4,
       2,
       4,
       400,
       1024,
       kDdr5_4800,
       "roce-400g",
       {{"nics", "NVIDIA 2-8-5-200 reference: 200 Gb/s per GPU; common knowledge, unchecked"},
        {"nic", "NVIDIA 2-8-5-200 reference: 200 Gb/s per GPU; common knowledge, unchecked"},
        {"*", kUnchecked}}},
      {"pcie-l20", "l20", 8, pcie, 4, 2, 4, 400, 1024, kDdr5_4800, "roce-400g", {{"*", kUnchecked}}},
      {"pcie-a10g",
       "a10g",
       8,
       pcie,
       4,
       2,
       1,
       100,
       768,
       kDdr4_3200,
       "ethernet-100g",
       {{"*", "AWS g5.48xlarge: 8 A10G, 768 GiB, 100 Gb/s; host bandwidth common knowledge, unchecked"}}},
      {"dgx-v100",
       "v100-sxm-32gb",
       8,
       nvswitch,
       2,
       2,
       4,
       100,
       512,
       kDdr4_2400,
       "ib-100g",
       {{"interconnect",
         "really a hybrid cube mesh: rings of a collective use all six links as on a switch, one pair "
         "of GPUs has only one or two of them"},
        {"*",
         "NVIDIA DGX-1 (Volta) user guide: 4 EDR ports at 100 Gb/s, 512 GB; common knowledge, unchecked"}}},
      {"c550-x8",
       "c550",
       8,
       nvswitch,
       2,
       2,
       8,
       400,
       2048,
       kDdr5_4800,
       "roce-400g",
       {{"interconnect",
         "a public MetaX tuning report: 7 links per GPU, one to each other GPU; rings use all of "
         "them as on a switch, one pair of GPUs has one"},
        {"*", "not published for this server: taken from other eight-GPU servers of its time, unchecked"}}},
      {"workstation-4090",
       "rtx-4090",
       1,
       pcie,
       1,
       1,
       1,
       100,
       128,
       83.2,
       "ethernet-100g",
       {{"peer_access", kNoPeerAccess}, {"*", kOneSocket}},
       {.peer_access = false}},
      {"pcie-4090",
       "rtx-4090",
       8,
       pcie,
       4,
       2,
       1,
       100,
       512,
       kDdr4_3200,
       "ethernet-100g",
       {{"peer_access", kNoPeerAccess},
        {"gpus_per_pcie_switch", kSharedSwitch4090},
        {"numa_nodes", kSharedSwitch4090},
        {"*", kUnchecked}},
       {.peer_access = false}},
      {"workstation-a6000",
       "a6000",
       1,
       pcie,
       1,
       1,
       1,
       100,
       256,
       kDdr4_3200,
       "ethernet-100g",
       {{"*", kOneSocket}}},
      {"pcie-a6000",
       "a6000",
       8,
       nvlink_pairs,
       4,
       2,
       1,
       100,
       1024,
       kDdr4_3200,
       "ethernet-100g",
       {{"*", kUnchecked}}},
      {"gcp-a2-ultra",
       "a100-sxm-80gb",
       8,
       nvswitch,
       2,
       2,
       1,
       100,
       1266,
       kDdr4_2933,
       "ethernet-100g",
       {{"nics", "Google Cloud A2 machine types: a2-ultragpu-8g, at most 100 Gb/s; one gVNIC, TCP alone"},
        {"nic", "Google Cloud A2 machine types: a2-ultragpu-8g, at most 100 Gb/s; one gVNIC, TCP alone"},
        {"host_memory", "Google Cloud A2 machine types: a2-ultragpu-8g, 1,360 GB"},
        {"*", "Cascade Lake host with 6 channels of DDR4-2933 a socket; common knowledge, unchecked"}}},
  };
  std::vector<Node> nodes;
  nodes.reserve(rows.size());
  for (Row const& r : rows) nodes.push_back(make(r, gpus));
  return nodes;
}

}  // namespace rollcast
