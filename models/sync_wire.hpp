// The part of a weight synchronisation that is on the wire: bytes over its slowest link.
#pragma once

#include "models/collective_prices.hpp"
#include "models/job.hpp"

namespace rollcast {

struct SyncWire {
  Bytes bytes;  // over the slowest link: a NIC of the sender or of a receiver, NVLink within a node
  BytesPerSecond bandwidth;  // of that link, achieved
  Seconds latency;

  Seconds time() const { return latency + (bytes.value > 0 ? bytes / bandwidth : Seconds(0)); }
};

// A model that leaves one rank in `units` equal messages for `engines` engines:
//   ring    NCCL's broadcast among `group`
//   serial  W x engines / link
//   tree    W x ceil(log2(engines + 1)) / link: those that have all of it double with every round
//   chain   W x (units + engines - 1) / units / link: near W / link for many messages
// link: one NIC, or NVLink where the group is one node.
SyncWire fan_out_wire(CollectivePrices& collectives, FanOut fan_out, Group group, int engines, Bytes weights,
                      double units);

// Every rank of an engine (tp x pp of them) gets its part of the model, all ranks of all engines at the same
// time; what leaves the trainer is spread evenly over its ranks, since each part is held by several of them
// or each of them holds as large a part. The slower side tells:
//   a receiver  W / (tp x pp) over its share of its node's NICs
//   the trainer W x engines over all its NICs
// within one node over NVLink, rank by rank.
SyncWire point_to_point_wire(CollectivePrices& collectives, Job const& trainer, Job const& engines,
                             bool same_node, Bytes weights);

}  // namespace rollcast
