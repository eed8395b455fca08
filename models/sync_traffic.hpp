// The bytes of one weight sync by the reshard map: of each rank, of each kind of link, between nodes; and the
// least time that these links need for them.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/profile.hpp"
#include "models/reshard.hpp"

namespace rollcast {

struct LinkBytes {
  std::array<std::int64_t, kSyncLinks> by_link{};  // SyncLink

  std::int64_t at(SyncLink l) const { return by_link[static_cast<std::size_t>(l)]; }
  std::int64_t total() const;
  std::int64_t to_others() const { return total() - at(SyncLink::same_gpu); }
  bool operator==(LinkBytes const&) const = default;
};

struct SyncTraffic {
  std::int64_t tensors = 0;         // of the checkpoint, or factors
  std::int64_t whole_bytes = 0;     // each element and each scale once
  std::int64_t copies = 0;          // strided copies, over all pairs of ranks
  std::vector<LinkBytes> sent;      // by rank of the trainer's pool
  std::vector<LinkBytes> received;  // by rank of the engines' pool
  LinkBytes total;
  std::map<std::pair<int, int>, std::int64_t> node_pairs;  // (from, to) over the network
  // fp8: scales sent; blocks of all tensors, and those cut by the trainer's parts and by the engines'.
  std::int64_t scale_bytes = 0;
  std::int64_t blocks = 0;
  std::int64_t blocks_cut_by_trainer = 0;
  std::int64_t blocks_cut_by_engines = 0;
};
SyncTraffic sync_traffic(Reshard const& r);

// What the busiest of a kind of link needs, both directions at a time: the largest over ranks of
//   same_gpu  2 x bytes (read and written) at the bandwidth of memory passes
//   node      max(sent, received) / NVLink of a GPU, or its PCIe where neighbours have no NVSwitch
//   network   max(sent, received) / NICs within a GPU's reach (at least one), and of a node over all its NICs
// times the profile's shares. Latency, handles, gathering and casting come on top: a bound, no forecast.
struct WireNeed {
  SyncLink link = SyncLink::same_gpu;
  std::int64_t bytes = 0;  // of the busiest
  Seconds time;
  std::string busiest;  // "train rank 3 sends", "node 1 receives"
};
// train, rollout: the clusters of both pools, with their profiles. Links without bytes are left out; so is a
// network between nodes without NIC.
struct PoolLinks {
  ClusterSpec const& cluster;
  Profile const& profile;
};
std::vector<WireNeed> wire_needs(SyncTraffic const& t, PoolLinks train, PoolLinks rollout);

}  // namespace rollcast
