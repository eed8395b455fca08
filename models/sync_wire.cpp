#include "models/sync_wire.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace rollcast {
namespace {

// From one rank to one other.
CollectivePrice link(CollectivePrices& collectives, bool one_node, Bytes bytes) {
  return collectives.at(CollectiveKind::send_recv, Group{2, one_node ? 1 : 2, 1}, bytes);
}

// How many times the model crosses the slowest link.
double crossings(FanOut fan_out, int engines, double units) {
  switch (fan_out) {
    case FanOut::ring:
      return 1;
    case FanOut::serial:
      return engines;
    case FanOut::tree:
      return std::ceil(std::log2(engines + 1.0));
    case FanOut::chain:
      return (units + engines - 1) / units;
  }
  throw std::logic_error("no such FanOut");
}

}  // namespace

SyncWire fan_out_wire(CollectivePrices& collectives, FanOut fan_out, Group group, int engines, Bytes weights,
                      double units) {
  Bytes const message = weights / units;
  CollectivePrice const p = fan_out == FanOut::ring
                                ? collectives.at(CollectiveKind::broadcast, group, message)
                                : link(collectives, group.nodes == 1, message);
  double const messages = units * crossings(fan_out, engines, units);
  return {p.bytes_per_link * messages, p.bandwidth, p.alpha * messages};
}

SyncWire point_to_point_wire(CollectivePrices& collectives, Job const& trainer, Job const& engines,
                             bool same_node, Bytes weights) {
  int const receivers = engines.rollout.parallel.tp * engines.rollout.parallel.pp;
  Bytes const part = weights / receivers;
  double const copies = rollout_engines(engines);
  CollectivePrice const p = link(collectives, same_node, part);
  if (same_node) return {max(part, weights * copies / trainer.cluster.gpus()), p.bandwidth, p.alpha};
  // A rank reaches as many NICs as there are per GPU, at least one; p is of those, this is of one NIC.
  auto const per_gpu = [](Node const& n) { return static_cast<double>(n.nics) / n.gpus; };
  BytesPerSecond const nic = p.bandwidth / std::max(1.0, per_gpu(trainer.cluster.node));
  Bytes const received = part / per_gpu(engines.cluster.node);
  Bytes const sent = weights * copies / (trainer.cluster.nodes * trainer.cluster.node.nics);
  return {max(received, sent), nic, p.alpha};
}

}  // namespace rollcast
