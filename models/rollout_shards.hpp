// Which part of a tensor each rank of the rollout engines stores, and where.
//
// Engines take consecutive ranks, stages outermost within an engine. vLLM and SGLang (layers/linear.py):
//   qkv_proj      a rank's query heads, its key heads, its value heads; where tp exceeds the KV heads, tp /
//                 kv_heads neighbours hold the same one
//   gate_up_proj  a rank's share of gate, then its share of up
//   embedding and head: rows padded to a multiple of 64 (vocab_parallel_embedding.py)
//   experts       ep = 1: every expert cut over tp; ep > 1: whole experts on ep ranks of a stage, also of
//                 several engines next to each other, the first experts mod ep of them one more. w13_weight
//                 is gate and up of the rank's experts in a row, w2_weight down; offsets count within one
//                 expert.
// With data-parallel attention each of the tp ranks has all but the experts whole. Hugging Face's generate
// has the tensors of the checkpoint. An adapter's factors are not fused: the one on the cut side of its layer
// is cut as the layer is, the other one whole (vllm/lora/layers).
#pragma once

#include <string>
#include <vector>

#include "models/job.hpp"
#include "models/shard_rect.hpp"
#include "models/stage_prices.hpp"
#include "models/sync_tensors.hpp"

namespace rollcast {

struct RolloutLayout {
  int ranks = 1;
  Parallel parallel;  // tp, pp, ep
  bool data_parallel_attention = false;
  bool fused = true;
  std::vector<Stage> stages;
};

// job: as the engines' pool sees it.
RolloutLayout rollout_layout(Job const& job);

// The parameter that it lies in: "layers.0.self_attn.qkv_proj.weight".
std::string engine_parameter(Architecture const& a, RolloutLayout const& l, SyncTensor const& t);

// One part for each tensor-parallel rank (of experts under ep, one), with a rank of every engine; neighbours
// may hold the same. Parts that are empty are left out.
Shards rollout_shards(Architecture const& a, RolloutLayout const& l, SyncTensor const& t);

}  // namespace rollcast
