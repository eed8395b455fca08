// How the ranks of one rollout engine share a step.
#pragma once

#include "models/job.hpp"
#include "models/layer_prices.hpp"

namespace rollcast {

// Without data-parallel attention every matrix is cut by tp (k and v by whole heads, the latent of MLA on
// every rank) and all ranks work on all tokens; ep > 1 gives each rank whole experts instead of slices. With
// it (SGLang --enable-dp-attention, vLLM --data-parallel-size of tp 1) each of the tp ranks has attention,
// dense MLP, shared experts, embedding and lm_head whole and sequences of its own, a tp-th of the engine's;
// experts are spread as before, and tokens travel to them: by dispatch and combine to whole experts (ep > 1),
// by all-gather and reduce-scatter to slices.
struct EngineLayout {
  Cut own;         // of all but the experts
  Cut experts;     // as cut for the tokens of all ranks
  int groups = 1;  // ranks with sequences of their own: tp with data-parallel attention, else 1
};
EngineLayout engine_layout(EngineOptions const& e);

// Tokens proposed for each sequence in a step, beside the one that is certain; 0 without speculative
// decoding.
int draft_tokens(EngineOptions const& e);

}  // namespace rollcast
