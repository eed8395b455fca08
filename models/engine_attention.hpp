// Attention of a rollout engine: decode steps and prompts, all layers.
#pragma once

#include <optional>
#include <vector>

#include "models/engine_dense.hpp"
#include "models/step_prices.hpp"

namespace rollcast {

// Attention of the layers of one kind; prices where they were measured.
struct LayerAttention {
  int example = 0;
  int count = 0;
  std::optional<AttentionPrices> prices;
  Seconds shortest;  // without prices: the shortest kernel that was measured of others, on top
};
std::vector<LayerAttention> engine_attention(Profile const& p, EngineProducts const& products,
                                             EngineOptions const& e, AttentionKind kind);

// KV bytes that one rank reads for one position of one sequence in one layer, and the FLOPs it takes: K and V
// in the KV dtype, cut over the kv heads; the latent of MLA is whole on every rank, its queries attend to the
// latent: 2 x heads x (2 x kv_lora_rank + rope) FLOPs.
struct PositionWork {
  Bytes kv;
  Flops flops;
};
PositionWork position_work(Architecture const& a, EngineOptions const& e, int layer);

// Elements (fp32) of one sequence's recurrent state on one rank, of all layers of this kind.
double state_elements(Architecture const& a, EngineOptions const& e, int layer);

// One decode step of `batch` sequences of the engine, `queries` tokens each (more than one when drafts are
// verified): measured, else max(KV bytes / (decode_attention x bandwidth), FLOPs / (attention rate)); K and V
// are read once for all queries, their FLOPs are done for each. A linear-attention layer reads and writes its
// state.
Seconds decode_time(std::vector<LayerAttention> const& layers, Profile const& p, Architecture const& a,
                    EngineOptions const& e, double batch, double context, double queries = 1);

// A prompt among as many like it as fill the token budget: kernels are not launched for each alone.
Seconds prompt_time(std::vector<LayerAttention> const& layers, Profile const& p, Architecture const& a,
                    EngineOptions const& e, double length);

// Of one token of K and V that a chunk reads, at the bandwidth of decode; all layers.
Seconds chunk_read_time(std::vector<LayerAttention> const& layers, Profile const& p, Architecture const& a,
                        EngineOptions const& e);

// From first to last, with the knots of what was measured between, each times `scale`.
std::vector<double> knots_of(std::vector<LayerAttention> const& layers,
                             std::vector<double> const& (AttentionPrices::*knots)() const, double first,
                             double last, double scale = 1);

}  // namespace rollcast
