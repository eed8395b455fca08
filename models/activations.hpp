// What a forward pass keeps for the backward pass, and what the logits take.
//
// Korthikanti et al. 2022, "Reducing Activation Recomputation in Large Transformer Models", section 4,
// counted again for today's layers: no dropout, flash attention (no score matrix: only its fp32 row sums),
// grouped queries, gated MLPs, experts. Bytes per token of one layer in bf16, h hidden, q = heads x head_dim,
// k = kv_heads x head_dim, f the MLP's width, t = tp:
//
//   none       8 h  [two norm inputs, two linear inputs]      + (4 q + 4 k + 4 heads + 6 f) / t
//   selective  the same without the row sums (4 heads / t)
//   full       2 h  [the layer's input]
//
// The 8 h and 2 h parts are cut by t only with sequence parallelism; the inputs of experts, which etp ranks
// gather for each other, by t / etp. An MLP without a gate keeps 4 f instead
// of 6 f: with k = q = h and f = 4 h that is 32 h, the paper's 34 h less its two dropout masks. A frozen
// linear layer (adapter runs) needs no input for a weight gradient, so inputs that only frozen layers read
// are not kept. tokens are those of one rank: a micro-batch over cp.
#pragma once

#include <cstdint>
#include <optional>

#include "models/architecture.hpp"
#include "models/job.hpp"

namespace rollcast {

Bytes kept_activations(Architecture const& a, int layer, TrainerOptions const& t, Recompute recompute,
                       std::optional<Adapter> const& adapter, double tokens);

// Final norm's and lm_head's inputs on the last stage, 4 h per token.
Bytes kept_by_head(Architecture const& a, TrainerOptions const& t, double tokens);

// Logits of one token at the peak of the loss: entries of one rank, how often in the weights' type and in
// fp32.
//   Megatron                 1 + fp32 2: the cast, and the softmax that turns into the gradient in place
//                            (core/tensor_parallel/cross_entropy.py)
//   whole, fp32              1 + fp32 4: cast, shifted clone, log-softmax, gradient (Transformers' causal
//   loss);
//                            forward alone 2: cast, log-softmax
//   whole, autocast          2 + fp32 2: logits and shifted clone; cast and log-softmax (forward alone 1 + 2)
//   whole, weights           4: logits, shifted clone, log-softmax, gradient (forward alone 2)
//   chunked, fused           1
//   linear                   of as many entries as the model is wide, since rows are taken so many at a time
//   that
//                            the chunk is as large as the hidden states (Liger's rule): 1, and with kernels
//                            that are not fused as many fp32 copies as whole logits have
struct LogitsKept {
  double entries = 0;
  int copies = 1;
  int fp32_copies = 0;
};
LogitsKept logits_kept(Architecture const& a, TrainerOptions const& t, bool backward);
Bytes logits_bytes(LogitsKept const& k, TrainerOptions const& t);  // in the weights' type
Bytes fp32_logits_bytes(LogitsKept const& k);

// Micro-batches that a stage of a 1F1B pipeline holds at its peak: min(pp - stage, micro-batches).
int in_flight(int stage, int pp, std::int64_t micro_batches);

// The longest sequence the job allows: the rollout engine's max_model_len, else longest prompt + longest
// response, else (unbounded) the model's context.
std::int64_t longest_sequence(Job const& job);

// Tokens on one rank of a full micro-batch of `sequences` sequences (dpo: pairs, two each); with packing of
// as many packs, each of at least the longest sequence.
double micro_batch_tokens(Job const& job, int sequences);

// Micro-batches of one optimizer step on one data-parallel replica, at least 1; with packing as many packs as
// the mean length fills.
std::int64_t micro_batches_per_step(Job const& job);

}  // namespace rollcast
