// The KV cache of generate() of Transformers: one batch, padded to one length, a token longer with every
// forward. Unless it is preallocated it grows by torch.cat, which needs the old tensor beside the new one: of
// one layer's K or V, before 4.42 of all of them.
#pragma once

#include "models/job.hpp"

namespace rollcast {

// Sequences that an engine has at a time: rollout.feed, or its share of a step's samples.
double static_batch(Job const& job);

// On one rank, `length` tokens of each sequence, the prompt's included.
Bytes static_cache(Job const& job, double batch, double length);
// What torch.cat holds beside it.
Bytes concatenation(Job const& job, double batch, double length);
// K and V of one layer as attention reads them: copied to every query head (transformers models/llama,
// repeat_kv), or by FlashAttention-2 without the padding.
Bytes attention_copies(Job const& job, double batch, double length);

// Logits of the prompts' forward in bf16 and fp32: of all positions (transformers before 4.45), or of the
// last.
Bytes prompt_logits(Job const& job, double batch, double prompt);

// The first length at which cache, concatenation and copies are more than `room`, at least 1.
int first_length_beyond(Job const& job, double batch, Bytes room);

}  // namespace rollcast
