// What one micro-batch costs on one pipeline stage of the trainer: forward, backward, log-prob forward.
#pragma once

#include <vector>

#include "models/collective_prices.hpp"
#include "models/job.hpp"
#include "models/packing.hpp"
#include "models/prices.hpp"

namespace rollcast {

// Layers [first, first + count) of a pipeline stage; stage 0 also holds the embedding, the last one norm and
// lm_head.
struct Stage {
  int first_layer = 0;
  int layers = 0;
  bool has_embedding = false;
  bool has_lm_head = false;
};
// layers / pp each; the first stages take one more where it does not divide.
std::vector<Stage> pipeline_stages(Architecture const& a, int pp);

// Time of one micro-batch on one stage, tensor-, context- and expert-parallel communication that cannot be
// hidden included.
struct StageTimes {
  Seconds forward;
  Seconds backward;     // recomputation included
  Flops forward_flops;  // of one rank, model FLOPs of the useful tokens (recomputation not counted)
  Flops backward_flops;
  Seconds forward_communication;  // exposed part inside forward
  Seconds backward_communication;
};

// One rank computes tokens / cp of the micro-batch. Per layer:
//   forward   matrix products (gemm_time at sustained_clock; Megatron's q, k, v in one and gate, up in one;
//   fp8
//             with scales per block from its own table) + attention + recurrence of linear attention + passes
//             of the software stack (models/layer_passes.hpp); not less than the host takes to dispatch its
//             operations, kernel_launch each, in eager mode eager_launches of those (Python, autograd,
//             dispatcher: 20 us), as the hooks of DeepSpeed's ZeRO always take (models/partition_work.hpp).
//             Attention: measured at sequences of one length that have the tokens and pairs of the
//             micro-batch, over sustained_clock; else pairs x FLOPs per pair over attention_forward; with
//             flash_attention_2 on Hopper and later 1.75 times that, backward 1.6 times
//   backward  input and weight gradient of every product, each the FLOPs of the forward in its own shape (of
//             measured experts: twice the forward); the weight gradient is added to the buffer of gradients
//             (models/gradient_accumulation.hpp); attention: forward x attention_backward_over_forward,
//             without it 2.5 x attention_forward / attention_backward; the stack's passes
//   adapter   (LoRA) the base has no weight gradient; two products of width rank per target and their
//             gradients, and the passes of models/adapter_passes.hpp. QLoRA also makes the layers' weights
//             the trainer's type again for their uses (dequantization_work there), at the share
//             `dequantization` of the memory bandwidth
//   offload   what the layer keeps is copied to the host while its forward runs and back during a backward
//             (shared_copy_time); what lasts longer than the layer's work is exposed
//   recompute full: backward also runs the forward, its collectives included; selective: its attention
// Communication per layer, exposed: tp two all-reduces of tokens x hidden in forward and in backward, as
// reduce-scatter + all-gather with sequence parallelism (of latent attention the gather is that of the
// latents: matrices that every rank has whole work on its own tokens alone, Megatron
// core/transformer/multi_latent_attention.py and moe/router.py), of which overlap_tensor_parallel leaves the
// first of tp chunks; a mixture's second one is that of its shared experts, if it has any. Its routed tokens,
// t x top_k x hidden with t the tokens that a rank has of its own (tokens / tp under sequence parallelism):
// ep an all-to-all to the experts and one back over ep ranks that lie etp apart, then etp an all-gather and a
// reduce-scatter of etp x t x top_k x hidden; with DeepEP a dispatch and a combine over etp x ep ranks
// instead (models/expert_exchange.hpp; a token goes to etp ranks for each of its experts: Megatron
// core/transformer/moe/token_dispatcher.py, MoEFlexTokenDispatcher). cp as a ring: the K and V of the other
// cp - 1 ranks (twice in backward: with their gradients), hidden behind attention as far as that lasts; by
// Ulysses: four all-to-alls each way, of queries, keys, values and output, keys and values repeated up to cp
// heads; fully sharded trainers: what models/shard_exchange.hpp leaves. Ends: the embedding is a pass;
// lm_head is a product over vocab / tp; the loss reads and writes its logits (models/logit_passes.hpp) and
// runs its small kernels with the GPU waiting; with tp three all-reduces of 4 B per token.
StageTimes stage_times(Profile const& p, Job const& job, Stage const& s, MicroBatch const& m);

// Forward that ends in log-probabilities of the responses (log-softmax over the vocabulary on the last
// stage). Backward members are zero.
StageTimes logprob_times(Profile const& p, Job const& job, Stage const& s, MicroBatch const& m);

// The same for many micro-batches, in their order; the stage's shapes are derived once. collectives: of the
// job's cluster.
std::vector<StageTimes> stage_times(Profile const& p, CollectivePrices& collectives, Job const& job,
                                    Stage const& s, std::vector<MicroBatch> const& batches);
std::vector<StageTimes> logprob_times(Profile const& p, CollectivePrices& collectives, Job const& job,
                                      Stage const& s, std::vector<MicroBatch> const& batches);

// Bytes of one activation hand-over between stages for a micro-batch, of one rank: tokens / cp x hidden in
// bf16, divided by tp under sequence parallelism.
Bytes stage_transfer_bytes(Job const& job, MicroBatch const& m);

}  // namespace rollcast
