// The memory ledger of a scenario as a verdict, tables and JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/ledger.hpp"
#include "scenarios/scenario.hpp"

namespace rollcast {

// What the rollout engine's KV comes to; absent from sft and dpo.
struct KvForecast {
  std::int64_t blocks = 0;  // pages of one engine; 0 or less: it refuses to start
  std::int64_t engines = 0;
  int block_tokens = 0;
  double mean_sequence = 0;           // tokens, prompt and response, of the first step
  std::int64_t longest_sequence = 0;  // tokens that one sequence may have
  Bytes bytes_per_token;              // on one rank
  std::string refusal;                // why the engine refuses to start; empty: it starts

  std::int64_t tokens() const { return blocks > 0 ? blocks * block_tokens : 0; }
  // Sequences of so many tokens whose KV one engine holds, were nothing shared between them.
  std::int64_t holds(double sequence) const;
};

// The GPUs of one pool.
struct PoolMemory {
  std::string name;  // empty: there is one
  ClusterSpec cluster;
  std::vector<Phase> phases;  // of one step that the pool takes part in, in order
  std::vector<RankLedger> ledgers;
  Bytes host_limit;    // of a node
  Bytes host_at_load;  // of a node whose GPUs all load
};

// A change of the scenario with which it would fit.
struct MemoryChange {
  std::vector<std::string> sets;    // as --set takes them
  Bytes headroom;                   // the least of a GPU
  std::optional<double> gpu_hours;  // of one step; nothing: what it asks for is not simulated yet
};

struct MemoryForecast {
  std::string scenario;
  std::vector<PoolMemory> pools;
  std::optional<KvForecast> kv;
  // Tokens of prompt and response (models/context_limit.hpp), once it was looked for; 0: none fits.
  std::optional<std::int64_t> longest_fitting;
  // For a layout that does not fit, once they were looked for: the cheapest.
  std::optional<std::vector<MemoryChange>> changes;
};

MemoryForecast forecast_memory(Scenario const& s);

// One sentence: whether it fits, by how much, in which phase. What stops a run first comes first: an engine
// that refuses to start (no page, or too few for one sequence of the longest length), a GPU over its visible
// memory, a node over its host memory in a step or while models are loaded.
struct MemoryVerdict {
  bool fits = true;
  std::string sentence;
};
MemoryVerdict memory_verdict(MemoryForecast const& f);

// Room on the fullest GPU; negative: it does not fit.
Bytes least_headroom(MemoryForecast const& f);

// Verdict, then per rank class a table of phases and categories in GiB, peak and headroom, every line with
// its formula; then KV, host memory and the longest sequence that fits. Ends with a newline.
std::string memory_text(MemoryForecast const& f);

// Keys: schema, scenario, fits, verdict, classes [{name, pool, pipeline_stage, ranks, capacity_bytes,
// peak_bytes, peak_phase, headroom_bytes, host_peak_bytes, phases [{name, bytes, host_bytes, categories
// {...}}], lines [{name, role, category, bytes, host, phases, formula}]}], kv {engines, blocks, block_tokens,
// tokens, bytes_per_token, mean_sequence, longest_sequence, mean_sequences, longest_sequences} or null,
// longest_fitting_sequence, hosts [{pool, capacity_bytes, peak_bytes, peak_phase}]
// of each pool's fullest node, changes [{sets, headroom_bytes, gpu_hours_per_step}] (cheapest first) or null.
// Bytes are whole numbers; a line's phases are empty when it is always there.
std::string memory_json(MemoryForecast const& f);

}  // namespace rollcast
