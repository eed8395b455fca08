// Which part of a tensor each rank of the trainer stores, and where.
//
// Ranks count as in sim/placement.hpp: tensor-parallel neighbours adjacent, pipeline stages outermost. The
// experts of a stage lie on a grid of their own: etp ranks next to each other cut an expert, ep such groups
// share the experts.
//   fused (Megatron)  column-parallel tensors by rows, row-parallel ones by columns, whole tensors on all.
//             linear_qkv: for each KV group its query heads, its key head, its value head; its rows are cut
//             evenly, also within a group where tp exceeds the groups (Megatron core/transformer/
//             attention.py gathers the activations then). linear_fc1: the gate's share of the rank, then
//             up's. Embedding and head: rows padded to a multiple of 128 tp.
//   else      q, k, v, gate and up are parameters of their own, cut by rows or columns.
// What tp and ep leave is then cut over the ranks that hold the same of it (data and context parallel), in
// groups of shard_ranks:
//   whole         every one a copy (DDP, ZeRO up to stage 2, Megatron)
//   rows          chunks of ceil(rows / ranks) rows (FSDP2: Shard(0), torch.chunk)
//   flat          chunks of ceil(elements / ranks) elements (ZeRO-3; the last one padded)
//   flat_layer    the same of all tensors of a decoder layer in a row, or of all outside the layers (FSDP1:
//                 one flat parameter per wrapped module); tensors as Hugging Face's modules register them,
//                 norms of a layer last. An adapter's factors are wrapped one by one. Only
//                 without tp, pp and ep.
#pragma once

#include <vector>

#include "models/job.hpp"
#include "models/shard_rect.hpp"
#include "models/stage_prices.hpp"
#include "models/sync_tensors.hpp"

namespace rollcast {

enum class Sharding { whole, rows, flat, flat_layer };

struct TrainLayout {
  int ranks = 1;
  Parallel parallel;
  Sharding sharding = Sharding::whole;
  int shard_ranks = 0;  // 0: all that hold the same
  bool fused = false;
  std::vector<Stage> stages;  // in the order of the model; stage i on pipeline rank i mod pp
};

// job: as the actor's pool sees it. flat_layer: FSDP with flat parameters.
TrainLayout train_layout(Job const& job, bool flat_layer = false);

// Parts are disjoint and make up the tensor. std::logic_error for a layer that no stage holds, and for
// flat_layer with tp, pp or ep.
Shards train_shards(Architecture const& a, TrainLayout const& l, SyncTensor const& t);

// Pipeline ranks that hold it: two of tied embeddings over several stages.
std::vector<int> stages_with(Architecture const& a, std::vector<Stage> const& stages, int pp,
                             SyncTensor const& t);

}  // namespace rollcast
