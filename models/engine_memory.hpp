// Memory of one rank of a rollout engine: weights, the peak of a step, and what is left for KV pages.
//
// With pp the largest stage stands for all of them. A draft of speculative decoding is one layer more, and a
// projection of 2 x hidden to hidden.
#pragma once

#include <cstdint>
#include <string>

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

// What an engine finds on its GPU when it starts.
struct EngineSite {
  Bytes capacity;           // visible memory
  Bytes held;               // by other processes (a trainer that started before)
  bool sleep_pool = false;  // weights and KV in a pool outside PyTorch's allocator
};

// The sum that sizes the KV pages of one rank.
struct KvBudget {
  Bytes asked;          // utilization x capacity
  Bytes left;           // for KV pages; 0 or less: the engine refuses to start
  Bytes free_at_start;  // capacity less what is held and the engine's own context and communicators
  std::string formula;  // "0.9 x 80.00 GB - weights 16.06 GB - ..."
};

// vLLM, by its release (engine_versions.hpp; the engines without a rule of their own as 0.9.1):
//   utilization x capacity - weights - activation peak - growth outside PyTorch (communicators included)
//   [- the engine's context - held][- CUDA graphs][+ fp8 weights that loading replaced]
// SGLang, utilization being mem_fraction_static (python/sglang/srt/model_executor/model_runner.py
// profile_max_num_token: free after the weights less (1 - fraction) of what was free before them):
//   utilization x free at the start - weights
// kv_cache_bytes: those, whatever the utilization.
KvBudget kv_budget(Architecture const& a, EngineOptions const& e, EngineSite const& site,
                   ProcessMemory const& m);

// Bytes of one page on one rank: block_size tokens.
Bytes kv_page(Architecture const& a, EngineOptions const& e);

// Host memory of one rank's weights asleep at level 1. vLLM copies each allocation of its pool into a pinned
// tensor, and PyTorch rounds pinned memory up to a power of two (ATen/core/CachingHostAllocator.h): the
// matrices are fused (q, k, v; gate, up; all experts of a layer) and allocated one by one in whole 2 MiB,
// those below 10 MiB together in 20 MiB. Qwen2.5-7B in bf16: 15.2 GB take 28.7 GB. Other engines: the
// weights.
Bytes sleeping_copy(Architecture const& a, EngineOptions const& e);

}  // namespace rollcast
