#include "models/network.hpp"

#include <algorithm>

namespace rollcast {

BytesPerSecond left_to_collectives(NetworkOptions const& n, BytesPerSecond capacity) {
  if (n.rpc_flows == 0 || n.rpc_apart) return capacity;
  BytesPerSecond const fair = capacity / (n.rpc_flows + 1.0);
  return min(capacity, max(max(capacity - n.rpc_bandwidth, fair), capacity * n.collectives_share));
}

ClusterSpec with_slower_nics(ClusterSpec cluster, double share) {
  cluster.node.nic = min(cluster.node.nic, cluster.fabric.nic) * share;
  return cluster;
}

}  // namespace rollcast
