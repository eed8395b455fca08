// Whether the engines of a job start, and with how many KV pages.
//
// An engine refuses to start, which is not an out-of-memory, where
//   - less is free on its GPU than it asks for (vLLM from 0.9.1),
//   - nothing is left for KV pages,
//   - it has fewer slots for adapters than versions of adapters are under way: max_staleness + 1 of each that
//     is trained, where adapters alone are synced,
//   - the pages do not hold one sequence of max_model_len (other engines than vLLM: of the workload),
//   - adapters lie in the pages, and one of them leaves no room for such a sequence; or they have slots, and
//     not one fits in their pool.
// Preallocated KV is no pages: it takes what max_num_seqs sequences of the longest length need, and where
// that does not fit, the run is out of memory.
#pragma once

#include <cstdint>
#include <string>

#include "models/engine_memory.hpp"
#include "models/job.hpp"
#include "models/process_memory.hpp"

namespace rollcast {

struct EngineStart {
  KvBudget budget;
  std::int64_t blocks = 0;   // KV pages of one engine; 0 or less: none
  std::int64_t longest = 0;  // tokens that one sequence may have
  std::string refusal;       // why it refuses, with the figures; empty: the engine starts
};

// On the fullest rank. An engine without pages (Hugging Face generate) always starts.
EngineStart engine_start(Job const& job, ProcessMemory const& process = process_memory());

// Pages of one rollout engine, over its ranks; 0 or less: it refuses to start.
std::int64_t kv_blocks(Job const& job);

// What the trainer holds on a GPU when an engine starts beside it (FrameworkOptions::engine_first false): its
// lines of the rollout, before any update has made its states.
Bytes held_at_engine_start(Job const& job, ProcessMemory const& process);

// Host memory of one rank while models are loaded: the process, copies of the models (load_copies) and,
// where the engines started first and sleep, their weights and their process.
Bytes host_at_load(Job const& job, ProcessMemory const& process = process_memory());

}  // namespace rollcast
