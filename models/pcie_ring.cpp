#include "models/pcie_ring.hpp"

#include <algorithm>

namespace rollcast {

BytesPerSecond pcie_ring_speed(Node const& node, int ranks, BytesPerSecond port) {
  if (node.peer_access || ranks < 2) return port;
  int const behind_switch = std::min(ranks, std::max(1, node.gpus_per_pcie_switch));
  int const numa_nodes = std::max(1, node.numa_nodes);
  int const on_numa = std::min(ranks, (node.gpus + numa_nodes - 1) / numa_nodes);
  BytesPerSecond const memory = node.host_memory_bandwidth / (2.0 * on_numa);
  return min(port / static_cast<double>(behind_switch), memory);
}

}  // namespace rollcast
