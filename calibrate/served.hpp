// Served points of a benchmark, as the program simulates them (models/served_load.hpp).
#pragma once

#include <optional>
#include <vector>

#include "calibrate/predictor.hpp"
#include "calibrate/sample.hpp"
#include "models/engine_overhead.hpp"
#include "models/served_load.hpp"

namespace rollcast {

// A served point, ready to be simulated with any overhead of its engine.
struct ServedPoint {
  EngineKind kind = EngineKind::trtllm;
  Architecture model;
  EngineOptions engine;
  ServedLoad load;
  std::int64_t kv_blocks = 0;
  StepPrices kernels;  // rollout_step_prices without the engine's own work
};

// The engine as such benchmarks start TRT-LLM (aiconfigurator's points of Llama-3.1-8B on H100 say so):
//   whole prompts, one in a step: a budget of prompt + response tokens. With TRT-LLM's default of 8,192 the
//   times per token with prompts of 1,024 tokens come out too low.
//   one sequence less than the load has requests: the time to the first token, less prefill, is that of one
//   request that always waits for another one to end.
//   as many sequences as find pages for prompt and response at once (TRT-LLM evicts none) in nine tenths of
//   the memory; prompts are not shared.
// nullopt: a sample of another operation; an engine other than TRT-LLM, a model, weight type or GPU node that
// the catalog does not hold; attention replicas; no room for one request.
std::optional<ServedPoint> served_point(Profile const& p, Sample const& s);

ServedTimes served_times(ServedPoint const& point, EngineOverhead const& overhead);

// Of served_ttft and served_tpot; no price for engines without an overhead in the profile.
std::vector<Predictor> served_predictors(Profile const& p);

}  // namespace rollcast
