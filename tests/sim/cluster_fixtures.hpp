// Small clusters with round numbers: NVLink 400 GB/s, PCIe 50 GB/s, NIC 40 GB/s, host memory 200 GB/s.
#pragma once

#include "sim/cluster.hpp"

namespace rollcast {

inline Profile profile_of_ones() {
  Profile p;
  p.nvlink.value = p.network.value = p.pcie.value = 1;
  return p;
}

inline ClusterSpec cluster_spec(int nodes, int gpus = 8, Interconnect interconnect = Interconnect::nvswitch) {
  ClusterSpec c;
  c.nodes = nodes;
  c.node.gpus = gpus;
  c.node.nics = gpus;
  c.node.interconnect = interconnect;
  c.node.gpu.nvlink = GB_per_s(400);
  c.node.gpu.pcie = GB_per_s(50);
  c.node.nic = GB_per_s(40);
  c.node.host_memory_bandwidth = GB_per_s(200);
  c.fabric.nic = GB_per_s(40);
  return c;
}

}  // namespace rollcast
