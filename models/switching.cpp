#include "models/switching.hpp"

#include <algorithm>
#include <cmath>

#include "models/roles.hpp"

namespace rollcast {
namespace {

constexpr double kPageable = 4.5;  // times the time of a pinned copy

Bytes bytes_of(RankLedger const& rank, Role role, MemoryCategory category) {
  Bytes sum;
  for (LedgerLine const& line : rank.lines) {
    if (!line.host && line.role == role && line.category == category) sum += line.bytes;
  }
  return sum;
}

// Whether the trainer computes first in this phase after generating: its weights are still on the host.
bool trainer_returns_in(Job const& job, Phase phase) {
  std::vector<Phase> order = step_phases(job);
  std::rotate(order.begin(), std::find(order.begin(), order.end(), Phase::generate), order.end());
  auto const first = std::find_if(order.begin(), order.end(), [](Phase p) {
    return contains({Phase::old_logprob, Phase::reference, Phase::update_actor}, p);
  });
  return job.framework.parameters_offload && first != order.end() && *first == phase;
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
  bool const returns = trainer_returns_in(job, phase);
  Switching s;
  auto const add = [&](std::vector<HostCopy>& copies, Direction direction, Bytes bytes, char const* what) {
    if (bytes.value > 0) copies.push_back({direction, bytes, what, f.pinned_copies});
  };
  auto const add_engine = [&](Direction direction) {  // engines pin their weights themselves
    if (job.rollout.sleep_level == 1 && engine.value > 0)
      s.before.push_back({direction, engine, "engine weights", true});
  };
  switch (phase) {
    case Phase::sleep:
      s.fixed = f.sleep_fixed;
      add_engine(out);
      break;
    case Phase::wake:
      s.fixed = f.wake_fixed;
      if (job.rollout.cuda_graphs) s.fixed += f.wake_graphs;
      add_engine(in);
      break;
    case Phase::old_logprob:
      if (returns) add(s.before, in, weights, "trainer weights");
      break;
    case Phase::reference:
      if (!f.reference_on_host) {
        if (returns) add(s.before, in, weights, "trainer weights");
      } else {
        if (!returns) add(s.before, out, weights, "trainer weights");
        add(s.before, in, weights, "reference weights");
        add(s.after, in, weights, "trainer weights");
      }
      break;
    case Phase::update_actor:
      if (returns) add(s.before, in, weights, "trainer weights");
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
  Seconds time = copy_time(p, copy.bytes * std::min(node.gpus_per_pcie_switch, node.gpus), copy.direction);
  if (node.host_memory_bandwidth.value > 0) {
    double const gpus_of_numa = std::ceil(static_cast<double>(node.gpus) / std::max(1, node.numa_nodes));
    time = max(time, copy.bytes * gpus_of_numa / node.host_memory_bandwidth);
  }
  return copy.pinned ? time : time * kPageable;
}

}  // namespace rollcast
