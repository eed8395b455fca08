// Memory of one rank of a rollout engine: weights, the peak of a step, and what is left for KV pages.
//
// With pp the largest stage stands for all of them. A draft of speculative decoding is one layer more, and a
// projection of 2 x hidden to hidden.
#pragma once

#include <cstdint>

#include "models/job.hpp"
#include "models/process_memory.hpp"

namespace rollcast {

// Weights on one rank. Experts are cut by tp like the other matrices, or as many of them are whole (ep = tp);
// with data-parallel attention all but the experts is on every rank. fp8: matrix products of the layers in
// one byte, the rest in two.
Bytes engine_weights(Architecture const& a, EngineOptions const& e);

// Peak of PyTorch's allocations in the start-up profile: the larger of the forward of max_num_batched_tokens
// tokens (residual stream, layer input, and the widest layer's projections before and after the activation)
// and the sampler over max_num_seqs full-vocabulary rows (every rank samples; process_memory.hpp) beside the
// last hidden states.
Bytes engine_activations(Architecture const& a, EngineOptions const& e, ProcessMemory const& m);

// KV bytes of one token on one rank: 2 x layers x kv_heads x head_dim x element for grouped queries, kv heads
// over tp and copied when tp exceeds them. Llama-3-70B in fp16, tp 1: 2 x 80 x 8 x 128 x 2 = 327,680 B, so 32
// sequences of 4,096 tokens hold 40 GiB. With data-parallel attention a token is on one rank of tp: the mean,
// so that pages of a rank count all of the engine's. (A widely copied 655,360 B and 80 GB counts the 2 of K
// and V twice.)
Bytes kv_bytes_per_token(Architecture const& a, EngineOptions const& e);

// Bytes left for KV on one rank; 0 or less: the engine refuses to start. capacity is the visible memory.
// vLLM (0.9.2 and later; the rule for the engines without one of their own too):
//   utilization x capacity - weights - activation peak - growth outside PyTorch (communicators included)
// SGLang, utilization being mem_fraction_static: utilization x capacity - weights - CUDA context -
// communicators.
Bytes kv_budget(Architecture const& a, EngineOptions const& e, Bytes capacity, ProcessMemory const& m);

// Bytes of one page on one rank: block_size tokens.
Bytes kv_page(Architecture const& a, EngineOptions const& e);

}  // namespace rollcast
