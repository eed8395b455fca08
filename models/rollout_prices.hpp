// The tables a rollout engine runs on, from profile, architecture and engine options.
#pragma once

#include "models/collective_prices.hpp"
#include "models/job.hpp"
#include "models/profile.hpp"
#include "models/step_prices.hpp"

namespace rollcast {

// The formula behind StepPrices::dense, for `tokens` >= 1 tokens of one step: layers, lm_head for the sampled
// positions (min(tokens, max_num_seqs)) and pipeline hops as engine_dense.hpp has them: products (q, k, v in
// one, gate and up in one, but for HF generate; lm_head in bf16 where weights are fp8; measured, else by the
// roofline, where a mixture reads the expected number of distinct experts that the batch touches),
// collectives of the engine's layout (engine_layout.hpp). With speculative decoding per token that a step
// yields (speculative.hpp). Pipeline stages run one after the other (one batch in flight): tokens x hidden is
// sent pp - 1 times.
Seconds dense_time(Profile const& p, Architecture const& a, EngineOptions const& e, ClusterSpec const& c,
                   double tokens);

// Attention of one decode step, all layers, as engine_attention.hpp and speculative.hpp have it.
Seconds decode_attention_time(Profile const& p, Architecture const& a, EngineOptions const& e, double batch,
                              double context);

// fixed, per_sequence: the profile's overhead of the engine (with async_scheduling that of TRT-LLM, which
// overlaps), else engine_step and engine_per_sequence; log-probabilities on top; over the tokens that a step
// yields, sequences over the ranks that have their own. chunk_read: K and V at the
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
// counted too, its attention is not) and attention of the context read; under speculative decoding each token
// stands for the k + 1 over its expected tokens that are verified, the draft left out. Bytes: weights once a
// step (of a mixture the experts that an average step touches), KV read and written.
struct RolloutWork {
  Flops flops;
  Bytes hbm;
};
RolloutWork rollout_work(Architecture const& a, EngineOptions const& e, double dense_tokens,
                         double decode_context_sum, double steps);

}  // namespace rollcast
