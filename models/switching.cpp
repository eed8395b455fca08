#include "models/switching.hpp"

#include <algorithm>

namespace rollcast {
namespace {

Bytes bytes_of(RankLedger const& rank, Role role, MemoryCategory category) {
  Bytes sum;
  for (LedgerLine const& line : rank.lines) {
    if (!line.host && line.role == role && line.category == category) sum += line.bytes;
  }
  return sum;
}

void add(std::vector<HostCopy>& copies, Direction direction, Bytes bytes, char const* what) {
  if (bytes.value > 0) copies.push_back({direction, bytes, what});
}

}  // namespace

Switching switching(Job const& job, RankLedger const& rank, Phase phase) {
  auto constexpr in = Direction::host_to_device;
  auto constexpr out = Direction::device_to_host;
  FrameworkOptions const& f = job.framework;
  Bytes const engine = bytes_of(rank, Role::rollout, MemoryCategory::weights);
  Bytes const weights = bytes_of(rank, Role::actor, MemoryCategory::weights);
  Bytes const optimizer = bytes_of(rank, Role::actor, MemoryCategory::master_weights) +
                          bytes_of(rank, Role::actor, MemoryCategory::optimizer_states);
  Switching s;
  switch (phase) {
    case Phase::sleep:
      s.fixed = f.sleep_fixed;
      if (job.rollout.sleep_level == 1) add(s.before, out, engine, "engine weights");
      break;
    case Phase::wake:
      s.fixed = f.wake_fixed;
      if (job.rollout.sleep_level == 1) add(s.before, in, engine, "engine weights");
      break;
    case Phase::old_logprob:
      if (f.parameters_offload) add(s.before, in, weights, "trainer weights");
      break;
    case Phase::reference:
      if (f.reference_on_host) {
        add(s.before, out, weights, "trainer weights");
        add(s.before, in, weights, "reference weights");
        add(s.after, in, weights, "trainer weights");
      }
      break;
    case Phase::update_actor:
      if (f.optimizer_offload) add(s.before, in, optimizer, "optimizer states");
      break;
    case Phase::weight_sync:
      if (f.optimizer_offload) add(s.before, out, optimizer, "optimizer states");
      if (f.parameters_offload) add(s.after, out, weights, "trainer weights");
      break;
    default:
      break;
  }
  return s;
}

Seconds shared_copy_time(Profile const& p, Node const& node, HostCopy const& copy) {
  int const behind_switch = std::min(node.gpus_per_pcie_switch, node.gpus);
  int const of_numa_node = (node.gpus + node.numa_nodes - 1) / node.numa_nodes;
  return max(copy_time(p, copy.bytes * behind_switch, copy.direction),
             copy.bytes * of_numa_node / node.host_memory_bandwidth);
}

}  // namespace rollcast
