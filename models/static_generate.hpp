// Generation without an engine, as Hugging Face generate runs it (DeepSpeed-Chat without its hybrid engine,
// OpenRLHF and TRL without vLLM): one batch, prompts padded on the left to one length, a token for every
// sequence in each forward until the last of them ends, and the whole batch returned at once. Eager kernels,
// no paging.
//
// A token takes
//   max(host, GPU, gather) + step
//   host    launch x kernels of an eager forward: 40 a layer (38 of transformers 4.38's Llama: 4 + 3
//   products,
//           2 x 6 for the norms, 2 + 8 for rotary embedding, 2 concatenations, attention, 2 adds, 2 of the
//           activation, mask and transpositions), of a mixture 24 and 8 for each expert that the batch
//           touches; the hooks of ZeRO-3
//   GPU     products, memory passes and lm_head (rollout_prices.hpp, engine hf; the logits are copied to
//   fp32),
//           attention of the padded context, and K and V of all layers copied: the cache grows by torch.cat,
//           a read and a write of all of it; unpadded_attention doubles that
//   gather  weights kept in shards (ZeRO-3): an all-gather of all layers beside the forward
//   step    of EngineOverhead: host work between two forwards that the GPU waits for
// The prompts' forward takes their products with lm_head at every position, causal attention, and the same
// host time.
#pragma once

#include <vector>

#include "models/collective_prices.hpp"
#include "models/engine_overhead.hpp"
#include "models/job.hpp"
#include "models/rollout_prices.hpp"

namespace rollcast {

struct StaticSequence {
  int prompt_tokens = 1;
  int response_tokens = 1;  // at which it would stop, at least 1
};

struct StaticOptions {
  int prompt_length = 0;  // prompts are padded to this length, or to the longest of the batch if that is more
  // Tokens of every response; 0: until the longest of the batch ends. Where ranks gather each other's weights
  // it is the longest of all ranks.
  int steps = 0;
  // Flash attention on padded sequences: K and V without the padding are copied, once more a read and a
  // write.
  bool unpadded_attention = false;
  Group weights;               // ranks that share the weights (ZeRO-3); one: each has all of them
  double hook_operations = 0;  // of ZeRO-3 in a forward (models/partition_work.hpp)
};

struct StaticBatch {
  Seconds first_token;            // of all sequences
  Seconds end;                    // all are returned
  std::vector<Seconds> finished;  // when the last token of each sequence was computed, in the order given
  int steps = 0;                  // forwards, that of the prompts included
  Flops flops;                    // of one rank, padding included, as rollout_work counts
  Bytes hbm;                      // the copies of the cache included
};

// Eager launches of one forward for a batch of `tokens` tokens.
double eager_kernels(Architecture const& a, double tokens);

// The time of one token at `context` positions, the new one included.
Seconds static_token_time(Profile const& p, CollectivePrices& collectives, Architecture const& a,
                          EngineOptions const& e, EngineOverhead const& host, StaticOptions const& o,
                          double batch, double context);

// Times from the start of the batch. No sequence, or one with no token: std::logic_error.
StaticBatch static_generate(Profile const& p, CollectivePrices& collectives, Architecture const& a,
                            EngineOptions const& e, EngineOverhead const& host, StaticOptions const& o,
                            std::vector<StaticSequence> const& sequences);

}  // namespace rollcast
