// An engine under a closed-loop load, as serving benchmarks put it: a fixed number of requests in flight,
// each replaced by a new one the moment it ends, all with the same prompt and response length.
#pragma once

#include <cstdint>

#include "models/job.hpp"
#include "models/step_prices.hpp"

namespace rollcast {

struct ServedLoad {
  int concurrency = 1;
  int prompt_tokens = 1;
  int response_tokens = 1;
};

struct ServedTimes {
  Seconds ttft;  // from submission to the step that yields the first token, queueing included
  Seconds tpot;  // (last token - first token) / (response_tokens - 1); 0 for responses of one token
};

// Means over the requests that end after the first `concurrency` ones, three times as many. The load starts
// with all requests at once. An engine that runs fewer than `concurrency` sequences (max_num_seqs) keeps the
// rest in its queue. No two requests share a prompt.
//
// In the steady state a request sees, while it decodes, the prefill of every other request once: with a
// decode step of d and a prefill that adds P to a step, TPOT = d + (concurrency - 1) P / response_tokens.
//
// std::logic_error: as RolloutEngine; a load below 1.
ServedTimes served_times(EngineOptions const& options, std::int64_t kv_blocks, StepPrices const& prices,
                         Seconds least_prefill_step, ServedLoad const& load);

}  // namespace rollcast
