// The groups of ranks that a stall can be in, as PyTorch's logs name them, and where a pool stands.
#pragma once

#include <string>
#include <vector>

#include "models/stall.hpp"
#include "sim/run_state.hpp"

namespace rollcast {

struct ReplicaTimes;

// The group that meets in every layer of the team's passes, and its collective: what its members wait in.
StalledGroup layer_group(Job const& job);
// Of a layer under FSDP and ZeRO-3: gathered before each pass, gradients scattered behind the backward one.
int collectives_of_layer(bool backward);
// Of all layers in the passes of a replica.
std::int64_t collectives_of(Team const& team, ReplicaTimes const& r, bool training);
// Where ranks without work wait for others when no driver leads (framework.single_controller: false): a
// barrier behind a checkpoint, else the broadcast of what the others bring.
StalledGroup default_group(Phase phase);
// The gradients of a stage.
StalledGroup gradient_group(RunState const& run, Team const& team, int stage);
// Ranks that share a sequence.
StalledGroup sequence_group(Job const& job);

// Ranks that wait themselves, in a collective that the others of their group do not call.
void add_other_collective(Stall& stall, Job const& job, int pool, std::vector<int> const& ranks, Seconds at);

// Between neighbouring stages.
StalledGroup pipeline_group();

// " of train"; nothing where there is one pool.
std::string of_pool(RunState const& run, PoolState const& pool);
// " of train in update_actor of step 2"; " between two phases".
std::string where(RunState const& run, PoolState const& pool);

}  // namespace rollcast
