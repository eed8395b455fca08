// What a serving run leaves in the event log: every request, and what its adapters cost.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/adapter_use.hpp"
#include "models/serve_options.hpp"
#include "models/units.hpp"

namespace rollcast {

struct ServedRequest {
  Seconds arrival;
  Seconds first_token;
  Seconds finish;
  std::int32_t prompt_tokens = 0;
  std::int32_t response_tokens = 0;
  std::int32_t adapter = -1;  // -1: none
  std::int32_t engine = 0;
};

// What one adapter of a variant is on this engine.
struct AdapterFacts {
  int rank = 0;
  std::string targets;  // "q, v"
  Bytes bytes;          // of both factors, whole
  Bytes rank_bytes;     // on one rank of the engine
  Seconds cold_load;    // from host memory, alone
  Seconds merge;        // into the weights, or out of them
};

struct ServingLog {
  AdapterExecution execution = AdapterExecution::batched;
  AdapterPool pool = AdapterPool::fixed;
  int adapters = 0;
  int slots = 0;  // fixed
  Bytes slot;     // on one rank
  Bytes wasted;   // of the slots of one rank beyond the adapters' own ranks and targets, in the mean
  ServiceObjective objective;
  std::vector<AdapterFacts> variants;
  std::vector<AdapterUse> engines;
  std::vector<ServedRequest> requests;  // in order of arrival
};

}  // namespace rollcast
