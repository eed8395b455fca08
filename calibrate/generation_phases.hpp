// Generation phases of published reinforcement-learning runs: what they say of the engines' own work between
// kernels, in vLLM and SGLang, of which no served points were measured on a GPU with kernel tables.
//
// A case counts if its text gives model, GPU, engine, samples, lengths and the seconds of generation alone:
//   R31  NeMo-RL v0.3, vLLM, Llama-3.1-8B, 8 H100; four readings (two trainers, NVIDIA's and a rerun)
//   I06  vime issue 244, vLLM, Qwen3-4B, 4 H800. Assumed: engines of tp 1; prompts of 160 tokens; every
//   response
//        at its limit of 2,048 (the same data set with a limit of 4,096: 90 % clipped)
//   I07  vime issues 442 to 445, vLLM, Qwen3-0.6B, 1 L20, 16 and 256 samples. Assumed: prompts of 150 tokens,
//        every response at its limit of 192
//   I02  Relax issue 152, SGLang, Qwen3-VL-4B, 8 H200, tp 2. Assumed: 1,000 tokens of prompt and image,
//   lengths
//        log-normal with p95 4,600, which puts their largest at the 9,324 told
// Not: R01, R03, I01, I14 (no generation phase), R10, R11, R28 (no mean length), R16 (over nodes: its
// collectives decide), R22 (experience making is in it), L01, L05 (GPU without a table, unknown GPU), M01
// (throughput of vLLM's engine of 2024).
#pragma once

#include <string>
#include <vector>

#include "models/engine_overhead.hpp"
#include "models/step_prices.hpp"

namespace rollcast {

struct GenerationCase {
  std::string id;   // of the case; several readings share it
  std::string gpu;  // catalog names
  std::string model;
  int tp = 1;
  int samples = 0;  // of one engine
  int prompt_tokens = 0;
  double mean_response = 0;
  double p95_response = 0;  // 0: every response has mean_response tokens
  int max_response = 0;
  Seconds measured;
};

std::vector<GenerationCase> const& generation_cases();

// The slowest of a few engines that run dry, with the GPU's profile (calibrate/profiles.hpp),
// log-probabilities of the sampled tokens among the step (all of these frameworks ask for them) and the
// overhead on top.
class GenerationPhase {
 public:
  explicit GenerationPhase(GenerationCase const& c);
  Seconds forecast(EngineOverhead const& o) const;
  GenerationCase const& of() const { return case_; }

 private:
  GenerationCase case_;
  EngineOptions engine_;
  StepPrices kernels_;
};

// step (in quarters of a millisecond) and per_sequence (in 5 us) that make the mean square of
// log(forecast / measured) least, each case counting once however many readings it has. The cases named in
// `left_out` are not looked at.
EngineOverhead fit_generation(std::vector<GenerationPhase> const& phases,
                              std::vector<std::string> const& left_out);

}  // namespace rollcast
