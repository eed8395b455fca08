// Multi-turn environments: a sample generates, calls a tool, reads its answer, and generates on.
//
//   turn 1     prompt                      -> generate g1, pause t1, observe o1
//   turn 2     prompt g1 o1                -> generate g2, pause t2, observe o2
//   ...
//   turn n     prompt g1 o1 ... g(n-1) o(n-1) -> generate gn
//
// response_tokens of a sample are those that the policy generates, g1 + ... + gn; observations come on top
// (they are computed in training, but carry no loss), so a sample trains on prompt + response + observations.
//
// How a rollout engine is driven with it: each turn is a request of its own, with context_tokens as its
// prompt and generate_tokens as its response. The first arrives when the sample starts, with the sample's
// group; when turn k completes at time t, turn k + 1 is submitted for t + pause. With KV freed the whole
// context is prefilled again (the group's prompt pages may still be shared); with KV kept only prefill_tokens
// are, and the pages of context + generate - 1 tokens stay taken during the pause: of what was generated only
// the last token has no KV. The last completion is the sample's completion.
#pragma once

#include <optional>
#include <vector>

#include "models/lengths.hpp"
#include "models/time_distribution.hpp"

namespace rollcast {

struct TurnModel {
  Lengths turns;                              // generations of one sample
  std::optional<Lengths> observation_tokens;  // of one tool's answer; absent: none
  TimeDistribution tool;                      // from the end of a turn to the start of the next
  bool keep_kv = true;                        // during the pause
};

struct Turn {
  int context_tokens = 0;  // before this turn's generation
  int cached_tokens = 0;   // of these, with KV kept from the turn before
  int generate_tokens = 0;
  Seconds pause;  // after it; 0 after the last

  int prefill_tokens() const { return context_tokens - cached_tokens; }
};

// The turns of one sample, at least one. The response is cut as evenly as whole tokens allow, longer parts
// first; a sample with fewer response tokens than turns has one turn per token (and none has over 65,535).
// The draws depend on the sample's seed, step and index alone (its purpose is not looked at). prompt_tokens
// or response_tokens below 1, or an index of 2^48 and more, is a std::logic_error.
//
// Always: the generate_tokens sum to response_tokens; each context is the one before + its generate_tokens +
// the observation between.
std::vector<Turn> turns_of_sample(TurnModel const& m, int prompt_tokens, int response_tokens,
                                  RandomKey sample);

// prompt + response + observations: what is trained on, and the longest context an engine sees.
int sequence_tokens(std::vector<Turn> const& turns);
Seconds total_pause(std::vector<Turn> const& turns);

// The largest possible sequence_tokens for prompts and responses of at most this length; 0: unbounded (also
// where either is 0, for unbounded).
int longest_sequence(TurnModel const& m, int longest_prompt, int longest_response);

}  // namespace rollcast
