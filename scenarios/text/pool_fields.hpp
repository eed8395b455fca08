// Pools of GPUs in a scenario, and which role runs on which.
//
//   pools: {train: {nodes: 2}, rollout: {gpus: 4, node: pcie-l40s}}
//   train: {pool: train}
//   rollout: {pool: rollout}
//   placement: {critic: train, reference: rollout, reward: rollout}
//
// A pool has nodes, or gpus: whole nodes, or a part of one. node: default that of the cluster. fabric:
// default the cluster's. Without `pools` every role shares the cluster.
#pragma once

#include "scenarios/text/fields.hpp"
#include "scenarios/text/scenario_fields.hpp"

namespace rollcast {

// Into job.pools; false when a pool has a problem. The cluster must have been read.
bool read_pools(Fields& f, Job& job, ScenarioPlace const& place);

// `key: name of a pool`.
void read_pool(Fields& f, std::string_view key, Job const& job, int& pool, std::string_view meaning);

// `placement: {...}`; call it after train.pool and rollout.pool were read. Engines that do not share the
// actor's GPUs neither sleep nor wake, and the trainer then keeps its states on the GPU unless the file says
// otherwise.
void read_placement(Fields& f, Job& job);

}  // namespace rollcast
