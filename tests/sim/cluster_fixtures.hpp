// Small clusters with round numbers: NVLink 400 GB/s, PCIe 50 GB/s, NIC 40 GB/s, host memory 200 GB/s.
#pragma once

#include "sim/crossings.hpp"

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

// Bytes over a link per byte of the stream; 0: it is not crossed.
inline double share_on(Crossings const& crossings, LinkId link) {
  for (Crossing const& c : crossings) {
    if (c.link == link) return c.share;
  }
  return 0;
}

// Two storage NICs of 20 GB/s on a second network, a file system of 90 GB/s read and 60 written, drives of 32
// and 16.
inline ClusterSpec with_storage(ClusterSpec c) {
  c.node.storage_nics = 2;
  c.node.storage_nic = GB_per_s(20);
  c.node.nvme_read = GB_per_s(32);
  c.node.nvme_write = GB_per_s(16);
  c.storage_fabric.emplace();
  c.storage_fabric->name = "second";
  c.storage_fabric->nic = GB_per_s(25);
  c.storage = {GB_per_s(90), GB_per_s(60)};
  return c;
}

}  // namespace rollcast
