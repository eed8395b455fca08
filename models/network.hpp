// What else is on the network between nodes, beside the collectives.
#pragma once

#include "models/hardware.hpp"
#include "models/units.hpp"

namespace rollcast {

// Calls between pools and services (rollout requests, samples, tool calls): so many streams in and out of
// every NIC, which together want so much.
struct NetworkOptions {
  int rpc_flows = 0;             // 0: none
  BytesPerSecond rpc_bandwidth;  // of a NIC and direction
  bool rpc_apart = false;        // on a subnet of its own
  double collectives_share = 0;  // of a NIC, which the collectives have in any case (a traffic class)
};

// What the streams leave a collective on a link: the link is shared max-min, the streams want D together, and
// the collective is one flow of n + 1. On a link of capacity C:
//   max(C - D, C / (n + 1), share x C), and C without streams or apart
BytesPerSecond left_to_collectives(NetworkOptions const& n, BytesPerSecond capacity);
// The cluster with that share of the bandwidth between its nodes.
ClusterSpec with_slower_nics(ClusterSpec cluster, double share);

}  // namespace rollcast
