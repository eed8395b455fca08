// Which links a communication crosses, and how many bytes it puts on each, per byte of its stream.
#pragma once

#include <vector>

#include "models/prices.hpp"
#include "sim/cluster.hpp"

namespace rollcast {

// share: bytes over this link per byte of the communication's own stream.
struct Crossing {
  LinkId link = -1;
  double share = 1;
};
using Crossings = std::vector<Crossing>;  // by link, ascending, each link once; constraints only

// Ring algorithms (all-reduce, all-gather, reduce-scatter, broadcast). The stream is what one GPU sends.
// NVSwitch: every member of a node with two or more of them sends and receives the stream over its NVLink.
// Otherwise the ring goes through the members of a node in order, over the bridge or over PCIe.
// Across nodes: the ring is split over the NICs nearest to the members of a node (k of them: share 1/k each,
// also on the PCIe ports of the NIC and its GPU), nodes in ascending order, so each leaf is left once per
// rail. `gpus`: cluster-wide numbers. A ring of one crosses nothing.
Crossings ring_crossings(Cluster const& cluster, std::vector<int> const& gpus);

// All-to-all. The stream is what one GPU sends in all. Of n members, m on the same node: (m-1)/(n-1) of it
// goes over NVLink (or PCIe), (n-m)/(n-1) through the member's NIC.
Crossings all_to_all_crossings(Cluster const& cluster, std::vector<int> const& gpus);

// One GPU to another. The stream is the message.
Crossings transfer_crossings(Cluster const& cluster, int from, int to);

// Pinned copy between a GPU and the memory of its NUMA node. The stream is the copy.
Crossings host_copy_crossings(Cluster const& cluster, int gpu, Direction direction);

// The crossings of a collective kind (send_recv: from the first to the second).
Crossings collective_crossings(Cluster const& cluster, CollectiveKind kind, std::vector<int> const& gpus);

}  // namespace rollcast
