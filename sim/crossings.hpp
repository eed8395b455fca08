// Which links a communication crosses, and how many bytes it puts on each, per byte of its stream. The ways
// between two parts of a node, and through the host where a card needs that, are those of way.hpp.
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

// Away from the GPU or the node, or to it.
enum class Heading { out, in };

// Ring algorithms (all-reduce, all-gather, reduce-scatter, broadcast). The stream is what one GPU sends.
// NVSwitch: every member of a node with two or more of them sends and receives the stream over its NVLink.
// Otherwise the ring goes through the members of a node in order, over the bridge or over PCIe.
// Across nodes: the ring is split over the NICs nearest to the members of a node (k of them: share 1/k each,
// also on the way between the NIC and its GPU), nodes in ascending order, so each leaf is left once per
// rail. `gpus`: cluster-wide numbers. A ring of one crosses nothing.
Crossings ring_crossings(Cluster const& cluster, std::vector<int> const& gpus);

// All-to-all. The stream is what one GPU sends in all. Of n members, m on the same node: (m-1)/(n-1) of it
// goes over NVLink (or PCIe), (n-m)/(n-1) through the member's NICs, in equal parts. An up-link carries what
// goes to members of other nodes under other leaves (NCCL's detour over the NVLink of the sender's node to
// the receiver's rail is not modelled).
Crossings all_to_all_crossings(Cluster const& cluster, std::vector<int> const& gpus);

// One GPU to another. The stream is the message; of several NICs each carries an equal part.
Crossings transfer_crossings(Cluster const& cluster, int from, int to);

// Pinned copy between a GPU and the memory of its NUMA node. The stream is the copy.
Crossings host_copy_crossings(Cluster const& cluster, int gpu, Direction direction);

// Between a GPU and something outside this cluster (a GPU of another pool): its NICs, in equal parts, and
// the fabric up to the spine. The stream is the message. A node without NICs: std::logic_error.
Crossings outside_crossings(Cluster const& cluster, int gpu, Heading heading);

// The crossings of a collective kind (send_recv: from the first to the second).
Crossings collective_crossings(Cluster const& cluster, CollectiveKind kind, std::vector<int> const& gpus);

}  // namespace rollcast
