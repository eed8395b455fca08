// The memory ledger: every line that a rank holds, by name, and in which phases. Bytes are sums of formulas,
// exact to the byte where the inputs are.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/job.hpp"

namespace rollcast {

enum class MemoryCategory {
  weights,
  gradients,
  master_weights,
  optimizer_states,
  activations,
  logits,
  gather_buffers,
  kv_pages,
  cuda_graphs,
  nccl_buffers,
  cuda_context,
  engine_residue
};
std::string_view name_of(MemoryCategory c);

enum class Role { actor, critic, reference, reward, rollout, process };
std::string_view name_of(Role r);

struct LedgerLine {
  Role role = Role::actor;
  MemoryCategory category = MemoryCategory::weights;
  Bytes bytes;
  bool host = false;          // host memory (pinned copies) rather than GPU
  std::vector<Phase> phases;  // when it is there; empty: always
  std::string formula;        // how the number comes about, for people: "8.03e9 / pp 2 x 2 B"
};

// Ranks with the same lines.
struct RankLedger {
  std::string name;  // "stage 0", "stage 1", "rank"
  int pipeline_stage = 0;
  int ranks = 0;   // how many ranks of the cluster
  Bytes capacity;  // visible memory
  std::vector<LedgerLine> lines;
};

// One per pipeline stage (stages with equal lines merged).
std::vector<RankLedger> memory_ledger(Job const& job);

Bytes total(RankLedger const& l, Phase phase, bool host = false);

struct MemoryPeak {
  Phase phase = Phase::generate;
  Bytes bytes;
};
MemoryPeak peak(RankLedger const& l, bool host = false);

// KV pages of one rollout engine: what gpu_memory_utilization leaves after weights, activations and residue,
// in whole pages over the engine's ranks. 0 or less: the engine refuses to start.
std::int64_t kv_blocks(Job const& job);
// KV bytes of one token on one rank of an engine (kv heads over tp, copied when tp exceeds them).
Bytes kv_bytes_per_token(Architecture const& a, EngineOptions const& e);

}  // namespace rollcast
