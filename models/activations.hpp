// What a forward pass keeps for the backward pass. What the logits take is in models/logit_copies.hpp.
//
// Korthikanti et al. 2022, "Reducing Activation Recomputation in Large Transformer Models", section 4,
// counted again for today's layers: no dropout, flash attention (no score matrix: only its fp32 row sums),
// grouped queries, gated MLPs, experts. Bytes per token of one layer in bf16, h hidden, q = heads x head_dim,
// k = kv_heads x head_dim, f the MLP's width, t = tp:
//
//   none       8 h  [two norm inputs, two linear inputs]      + (4 q + 4 k + 4 heads + 6 f) / t
//   selective  the same without the row sums (4 heads / t)
//   full       2 h  [the layer's input; 4 h where embedding and norms are in fp32 and so is what runs through
//                    the layers: adapters after PEFT's prepare_model_for_kbit_training (unquantized fp32)]
//
// The 8 h and 2 h parts are cut by t only with sequence parallelism; the inputs of experts, which etp ranks
// gather for each other, by t / etp. An MLP without a gate keeps 4 f instead
// of 6 f: with k = q = h and f = 4 h that is 32 h, the paper's 34 h less its two dropout masks. tokens are
// those of one rank: a micro-batch over cp.
//
// A frozen linear layer (adapter runs) needs no input for a weight gradient, so inputs that only frozen
// layers read are not kept, except by bitsandbytes (quantization nf4, nf4_fp16; autograd/_functions.py,
// MatMul4Bit: ctx.tensors = (A, B)). An adapter keeps its input: the layer's own, or, with dropout or a type
// of its own, one copy per adapter (2 B) and the mask of dropout (1 B); and what A makes of it (2 B x rank).
//
// One product for q, k and v (merged_qkv): attention keeps v, a view, and so all three: 2 q + 2 k more. With
// adapters on some of them their result is kept too, to be spread over the product (lit_gpt lora.py zero_pad:
// index_copy keeps its source).
//
// What the software stack keeps (TrainerOptions::kernels):
//   fused     the counts above (Transformer Engine, Liger)
//   compiled  the same: torch.compile's partitioner does not recompute what a matrix product of the backward
//             reads (torch/_functorch/partitioners.py, ban_recompute_materialized_backward), so the norms'
//             outputs and the gated product are kept
//   eager     of an RMS norm instead of its bf16 input the fp32 copy, and the normalised value where the
//   weight
//             learns: 6 h (frozen 4 h) for 2 h, of head norms likewise; of a gated MLP the activated gate
//             too, 8 f for 6 f; expert outputs in fp32 (torch.autograd's formulas of pow, mul and silu over
//             transformers modeling_llama.py, modeling_qwen3.py, torchtune rms_norm.py, torchtitan moe.py)
// expand_kv: keys and values as wide as the queries, 8 q for 4 q + 4 k (torchtune MultiHeadAttention).
#pragma once

#include <cstdint>
#include <optional>

#include "models/architecture.hpp"
#include "models/job.hpp"

namespace rollcast {

Bytes kept_activations(Architecture const& a, int layer, TrainerOptions const& t, Recompute recompute,
                       std::optional<Adapter> const& adapter, double tokens);

// What full recomputation makes of one layer before it goes back: all that it keeps without recomputation,
// less the layer's input where the first norm keeps that itself (it is there already).
Bytes recomputed_activations(Architecture const& a, int layer, TrainerOptions const& t,
                             std::optional<Adapter> const& adapter, double tokens);

// Gradients of activations beside what a layer keeps, at the widest point of its backward: the MLP's.
//   that of the layer's output          2 h
//   gated MLP of width f                4 f / t: the product's has come for the product, then gate's and up's
//                                       beside it; compiled 2 f / t, since one of them takes its place
//   MLP without gate                    2 f / t
//   experts, c chosen of width f        2 c h of their outputs and 4 c f / t (compiled 2 c f / t); eager: 12
//   c h
//                                       where outputs are weighted by their scores in fp32: the gradient, its
//                                       product with the scores, its product with the outputs
Bytes activation_gradients(Architecture const& a, int layer, TrainerOptions const& t, double tokens);

// A forward pass without gradients frees as it goes; the widest point of one layer: residual and norm 4 h,
// gate, up and their product 6 f / t (no gate: 4 f / t), of experts on the routed copies, 2 c h more (eager:
// their outputs in fp32, twice, 8 c h); or attention, 4 h + (4 q + 4 k) / t.
Bytes forward_working_set(Architecture const& a, int layer, TrainerOptions const& t, double tokens);

// What Megatron's token dispatcher of an expert layer holds from one forward to the next: the probabilities
// in fp32 and the routing map of all experts, and the order of the copies, 5 experts + 8 chosen per token
// (core/transformer/moe/token_dispatcher.py: probs, routing_map, reversed_local_input_permutation_mapping are
// attributes). 0 of other trainers and layers.
Bytes retained_by_dispatcher(Architecture const& a, int layer, TrainerOptions const& t, double tokens);

// Final norm's and lm_head's inputs on the last stage, 4 h per token.
Bytes kept_by_head(Architecture const& a, TrainerOptions const& t, double tokens);

// Micro-batches that a stage of a 1F1B pipeline holds at its peak: min(pp - stage, micro-batches).
int in_flight(int stage, int pp, std::int64_t micro_batches);

// The longest sequence the job allows: the rollout engine's max_model_len, else the longest request of a trace
// that is served, else longest prompt + longest response, else (unbounded) the model's context.
std::int64_t longest_sequence(Job const& job);

// Tokens on one rank of a full micro-batch of `sequences` sequences (dpo: pairs, two each); with packing of
// as many packs, each of at least the longest sequence.
double micro_batch_tokens(Job const& job, int sequences);

// Tokens on one rank of the largest micro-batch of a forward pass alone and of an update.
struct MicroBatchTokens {
  double forward = 0;
  double update = 0;
};
// The most that the job allows; dynamic batching: the budget, or one longest sequence over cp.
MicroBatchTokens allowed_micro_batches(Job const& job);

// Micro-batches of one optimizer step on one data-parallel replica, at least 1; with packing as many packs as
// the mean length fills.
std::int64_t micro_batches_per_step(Job const& job);

}  // namespace rollcast
