// What the ranks of a trainer read of a checkpoint that another trainer of the same model wrote: a run that
// goes on with more or fewer ranks, or cut otherwise.
#pragma once

#include <string>
#include <vector>

#include "models/checkpoint.hpp"
#include "models/checkpoint_layout.hpp"

namespace rollcast {

struct RankRead {
  SavedBytes bytes;
  int shards = 0;    // saved ranks that any of it comes from
  Bytes other_node;  // of it, saved by the ranks of a node with another number
};

struct CheckpointLoad {
  SavedBytes saved;  // by all ranks, each element once
  bool gathered = false;
  std::vector<RankRead> ranks;  // of the trainer that reads
};

// Each rank reads what it holds (load_plan), in the types that the writer keeps; options of the checkpoint
// are the writer's. Of a gathered one the first rank reads all, from one shard. Jobs as the actor's pool sees
// them; std::logic_error where models_differ.
CheckpointLoad checkpoint_load(Job const& writer, Job const& reader);

// One sentence for tensors that one has and the other has not; empty: they save the same.
std::string models_differ(Job const& writer, Job const& reader);

// Of all its ranks.
SavedBytes read_bytes(CheckpointLoad const& load);
// The first of those that read most.
int busiest_reader(CheckpointLoad const& load);

// load_time of that.
ReadBytes load_size(CheckpointLoad const& load);

}  // namespace rollcast
