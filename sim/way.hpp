// The way of one communication, put together from pieces: the links between two parts of the cluster that are
// next to each other, each with its share. Pieces have a heading: `out` from the GPU or the host's memory,
// `in` the same links backwards.
//
//   GPU - memory    the GPU's PCIe, the upstream port of its switch, the memory of its NUMA node
//   GPU - NIC       with peer access and a fabric with gpu_direct: PCIe of both, and where the NIC hangs on
//                   another switch its upstream port and that of the GPU's, and the sockets between them.
//                   Otherwise GPU - memory - NIC: the memory link twice (the host's processor copies nothing
//                   on the way in this model)
//   memory - NIC    the memory, the sockets to the NIC's NUMA node, the upstream port of the NIC's switch,
//   its
//                   PCIe
//   GPU - GPU       one node: NVSwitch, or the bridge, else PCIe: over the switch that both hang on, or over
//                   their upstream ports and the sockets between them; without peer access through the memory
//                   of the sender's NUMA node, twice, even behind one switch
//
// A cable that is not there is a std::logic_error.
#pragma once

#include "sim/crossings.hpp"

namespace rollcast {

class Way {
 public:
  explicit Way(Cluster const& cluster) : c_(cluster) {}

  void add(LinkId link, double share);
  void gpu_to_gpu(int from, int to, double share);  // of one node
  void gpu_and_nic(int gpu, int nic, Heading heading, double share);
  void gpu_and_memory(int gpu, Heading heading, double share);
  void memory_and_nic(int numa, int nic, Heading heading, double share);
  void memory_and_storage_nic(int numa, int nic, Heading heading, double share);
  void memory_and_drives(int numa, int host, Heading heading, double share);
  void nic_to_nic(int from, int to, double share);  // of two nodes
  // A NIC of either network and the spine above it.
  void nic_and_spine(Network const& network, int nic, Heading heading, double share);
  void spine_and_file_system(Heading heading, double share);

  // By link, ascending, shares of one link added up.
  Crossings result() &&;

 private:
  void along(Cable const& cable, Heading heading, double share);    // up when out
  void against(Cable const& cable, Heading heading, double share);  // down when out
  void between_numa(int from, int to, Heading heading, double share);
  bool are_bridged(int a, int b) const;

  Cluster const& c_;
  Crossings found_;
};

}  // namespace rollcast
