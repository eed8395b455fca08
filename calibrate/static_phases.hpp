// Generation phases of published runs that call Hugging Face generate: what they say of its host work.
//
// R22 (OpenRLHF benchmark README @70d37fe7): 1,024 samples on 8 A800, prompts and answers of 1,024 tokens,
// transformers 4.38; six of its eight systems. The phase holds the experience, too: every batch is scored by
// actor, reference, critic and reward model, counted as their forwards of 2,048 tokens at 60 % of 312
// TFLOP/s.
#pragma once

#include <string>
#include <vector>

#include "models/engine_overhead.hpp"

namespace rollcast {

struct StaticCase {
  std::string name;  // of the published scenario
  std::string model;
  int batch = 0;          // of one rank
  int ranks = 0;          // that generate
  bool unpadded = false;  // flash attention (OpenRLHF) rather than PyTorch's (DeepSpeed-Chat)
  double scored = 0;      // sequences that the busiest GPU scores for one batch of every rank
  Seconds measured;
};

std::vector<StaticCase> const& static_cases();

// The phase with this work of the host.
Seconds forecast(StaticCase const& c, EngineOverhead const& host);

// step (in halves of a millisecond) that makes the mean square of log(forecast / measured) least over all
// cases but the one named `left_out` ("": over all). The launch stays what is shipped: the GPU is the slower
// one in most of these cases, so that they hardly tell it.
EngineOverhead fit_static(std::string const& left_out);

}  // namespace rollcast
