// What one step of a rollout engine does for every token: products, memory passes and collectives of its
// layers, and lm_head.
#pragma once

#include <optional>
#include <vector>

#include "models/collective_prices.hpp"
#include "models/engine_layout.hpp"
#include "models/layer_prices.hpp"

namespace rollcast {

struct EngineProducts {
  struct Part {
    LayerShape shape;
    LayerProducts products;
  };
  struct Layer {
    Part own;  // of a rank's own tokens; of a mixture with the experts, unless they are apart
    std::optional<Part> routed;  // data-parallel attention: the experts, for the tokens of all ranks
    int example = 0;
    int count = 0;
  };
  std::vector<Layer> layers;
  std::vector<Matmul> head;
  EngineLayout layout;
};
EngineProducts engine_products(Profile const& p, Architecture const& a, EngineOptions const& e);

// Quantized checkpoints keep lm_head in bf16.
DType head_dtype(EngineOptions const& e);

// Tokens of one rank above which a step runs without CUDA graphs (engine_defaults.hpp); 0 without any graphs.
double graph_tokens(Gpu const& gpu, EngineOptions const& e);

// One layer for `tokens` tokens of the engine, collectives included:
//   products, recurrence of linear attention, memory passes; a step without CUDA graphs takes at least its
//   launches (the interpreter's work included where there are no graphs at all; beyond the largest graph the
//   code between launches is compiled); two all-reduces over tp of tokens x hidden in bf16, the engine's own
//   or (custom_all_reduce off) NCCL's (one in a parallel block). With data-parallel attention none, but for a
//   mixture the exchange with its experts: DeepEP's dispatch and combine (low latency up to 128 tokens a rank
//   where that is faster, else normal), or all-gather and reduce-scatter of all tokens.
Seconds layer_time(EngineProducts::Layer const& layer, EngineLayout const& layout, Profile const& p,
                   Architecture const& a, EngineOptions const& e, CollectivePrices& collectives,
                   double tokens);

// lm_head for `sampled` positions of the engine.
Seconds head_time(EngineProducts const& products, Profile const& p, EngineOptions const& e, double sampled);

// All layers, lm_head for the sampled positions (at most max_num_seqs of `tokens`), and the hops between
// pipeline stages.
Seconds dense_time(EngineProducts const& products, Profile const& p, Architecture const& a,
                   EngineOptions const& e, CollectivePrices& collectives, double tokens);

}  // namespace rollcast
