// The tables a rollout engine runs on, from profile, architecture and engine options.
#pragma once

#include "models/collective_prices.hpp"
#include "models/job.hpp"
#include "models/profile.hpp"
#include "models/step_prices.hpp"

namespace rollcast {

// The formula behind StepPrices::dense, for `tokens` >= 1 tokens of one step, all layers and lm_head:
//   per layer: its products (q, k, v in one, gate and up in one, but for HF generate; lm_head in bf16 where
//   weights are fp8; measured, else by the roofline, where a mixture reads the expected number of distinct
//   experts that the batch touches), recurrence of linear attention, memory passes, two tensor-parallel
//   all-reduces (one in a parallel block) of tokens x hidden in bf16; without CUDA graphs not less than its
//   launches take lm_head for the sampled positions: min(tokens, max_num_seqs)
// Pipeline stages run one after the other (one batch in flight): tokens x hidden is sent pp - 1 times.
Seconds dense_time(Profile const& p, Architecture const& a, EngineOptions const& e, ClusterSpec const& c,
                   double tokens);

// Attention of one decode step, all layers: measured, else
// max(KV bytes / (decode_attention x bandwidth), FLOPs / (attention rate)) of batch x context, K and V in the
// KV dtype and cut by tp over the kv heads (the latent of MLA is on every rank; its queries attend to the
// latent: 2 x heads x (2 x kv_lora_rank + rope) FLOPs per position). A linear-attention layer reads and
// writes its state in fp32 instead.
Seconds decode_attention_time(Profile const& p, Architecture const& a, EngineOptions const& e, double batch,
                              double context);

// fixed, per_sequence: the profile's overhead of the engine (with async_scheduling that of TRT-LLM, which
// overlaps), else engine_step and engine_per_sequence; log-probabilities on top. chunk_read: K and V at the
// achieved bandwidth of decode. Attention that no table holds (MLA, linear): the shortest measured kernel and
// the formula.
// dense: knots set so that the curve is within 1 % of dense_time at every token count from 1 to
// max_num_batched_tokens (or max_num_seqs); with measured products at 1 to 16 and the multiples of 16,
// between them a line. decode_attention: on the knots of the measured table; without one linear in batch and
// in batch x context, so two knots each. prefill: a prompt in a batch of like ones that fills
// max_num_batched_tokens, lengths by factors of 2. The clock is the burst clock: decoding does not load the
// matrix units. cluster gives the tensor-parallel group its interconnect.
StepPrices rollout_step_prices(Profile const& p, CollectivePrices& collectives, Architecture const& a,
                               EngineOptions const& e);
StepPrices rollout_step_prices(Profile const& p, Architecture const& a, EngineOptions const& e,
                               ClusterSpec const& c);

// FLOPs and HBM bytes of one rank for `tokens` dense tokens and `context` KV tokens read in `steps` steps:
// for MFU and MBU. FLOPs: products of layers and lm_head for every dense token (a prefill token's lm_head is
// counted too, its attention is not) and attention of the context read. Bytes: weights once a step (of a
// mixture the experts that an average step touches), KV read and written.
struct RolloutWork {
  Flops flops;
  Bytes hbm;
};
RolloutWork rollout_work(Architecture const& a, EngineOptions const& e, double dense_tokens,
                         double decode_context_sum, double steps);

}  // namespace rollcast
