// Speed of a ring over PCIe inside a node.
#pragma once

#include "models/hardware.hpp"

namespace rollcast {

// What each of the first `ranks` GPUs of a node can send around a ring over PCIe, in bytes per second of one
// direction, when a port carries `port`. With peer access: the port. Without (Node::peer_access) every step
// goes up into host memory and down again, so of m ranks behind one switch and h on one NUMA node
//   min(port, port / m  (the switch's upstream port), host_memory_bandwidth / 2h  (in and out)).
BytesPerSecond pcie_ring_speed(Node const& node, int ranks, BytesPerSecond port);

}  // namespace rollcast
