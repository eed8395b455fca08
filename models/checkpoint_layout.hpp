// Which part of each tensor a rank saves and needs again, as rectangles, and which saved shards the ranks of
// another layout read. What the ranks of a trainer hold is models/train_shards; a checkpoint's own are the
// optimizer's flat parts and who saves what several hold.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "models/job.hpp"
#include "models/shard_rect.hpp"
#include "models/sync_tensors.hpp"

namespace rollcast {

// A rectangle of a tensor, by the tensor's number.
struct Block {
  int tensor = 0;
  IndexRange rows;
  IndexRange columns;

  std::int64_t count() const { return rows.count * columns.count; }
  auto operator<=>(Block const&) const = default;
};

using RankBlocks = std::vector<Block>;
using Layout = std::vector<RankBlocks>;  // by rank

std::int64_t elements_of(RankBlocks const& blocks);

// What a checkpoint of the actor holds, every expert apart; of an adapter run its factors alone.
std::vector<SyncTensor> checkpoint_tensors(Job const& job);

// Part `part` of the blocks' elements laid end to end, in chunks of ceil(n / parts): ZeRO's flat buffer,
// Megatron's distributed optimizer (both pad the last one).
RankBlocks flat_part(RankBlocks const& blocks, int part, int parts);

// Weights, or what the optimizer keeps (master weights and states, one block structure for all).
enum class SavedState { weights, optimizer };

// What each rank of the trainer's pool holds and so loads, of checkpoint_tensors in their order. Weights: by
// train_shards, the vocabulary without its padding; FSDP1 as FSDP2, because its sharded state dict is rows of
// each tensor too (torch/distributed/fsdp/_state_dict_utils.py). The optimizer's the same, but cut over the
// ranks that hold the same (ZeRO stages 1 and 2, Megatron's distributed optimizer) flat parts of it, experts
// apart, without the last stage's copy of a tied embedding.
Layout held_layout(Job const& job, SavedState state);
// What each saves of that: of a block that several ranks hold each writes an equal flat part; of the
// optimizer's flat parts, what tensor parallelism leaves whole is saved by its first rank (Megatron's
// replica_id).
Layout saved_layout(Job const& job, SavedState state);

struct ShardRead {
  int rank = 0;  // whose saved shard
  Bytes bytes;
};
using LoadPlan = std::vector<std::vector<ShardRead>>;  // of each new rank, by saved rank ascending

// Every new rank reads exactly what it needs, from the shards that hold it. Four ranks' row shards to two:
// each reads two shards, all of them; two to four: each half of one. What no shard holds or two hold is a
// std::logic_error.
LoadPlan load_plan(Layout const& saved, Layout const& needed, Bytes per_element);

}  // namespace rollcast
