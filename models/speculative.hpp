// Speculative decoding: k draft tokens are verified in one step of the model, and those before the first
// rejected one count.
//
// Each draft token is accepted with probability a, independently: a step yields (1 - a^(k+1)) / (1 - a)
// tokens on average (the model's own after the last accepted one included), 1 at a = 0, k + 1 at a = 1. The
// engine's clock stays one token a step: a token costs a step over the tokens that it yields. What this
// leaves out: sequences are lucky or not (the longest of many ends a little later), and a step with prompt
// tokens brings each decoding sequence one token, not several. The draft is one layer like the model's last
// (a prediction module of DeepSeek's kind, or an EAGLE head) behind a projection of two hidden states to one,
// and lm_head; k times a step, and over the prompts.
#pragma once

#include <optional>

#include "models/engine_attention.hpp"

namespace rollcast {

// 1 without drafts.
double expected_tokens(std::optional<Speculation> const& s);

// One draft token for each of `tokens` sequences, without lm_head; 0 without drafts.
Seconds draft_layer_time(EngineProducts const& products, Profile const& p, Architecture const& a,
                         EngineOptions const& e, CollectivePrices& collectives, double tokens);

// What a token of `tokens` sequences costs in dense work:
//   (dense((k + 1) x tokens) + k x (draft layer + lm_head)) / expected tokens, up to max_num_seqs of them
// beyond, tokens are of prompts and cost what they cost the model and the draft layer.
Seconds speculative_dense_time(EngineProducts const& products, Profile const& p, Architecture const& a,
                               EngineOptions const& e, CollectivePrices& collectives, double tokens);

// Attention of a token likewise: (k + 1 queries a sequence + k x that of the draft layer) / expected tokens.
Seconds speculative_decode_time(std::vector<LayerAttention> const& layers, Profile const& p,
                                Architecture const& a, EngineOptions const& e, double batch, double context);

}  // namespace rollcast
