// The memory ledger: every line that a rank holds, by name, and in which phases. Bytes are sums of formulas,
// exact to the byte where the inputs are.
//
// Lines that exist in a phase are added as if all existed at once, so a phase's total is the most it can
// need; of the moments of an update that exclude each other (models/update_moment.hpp) the lines are those of
// the largest. What the caching allocator adds on top (fragmentation) is not part of the ledger.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "models/activations.hpp"
#include "models/engine_memory.hpp"
#include "models/job.hpp"
#include "models/process_memory.hpp"
#include "models/roles.hpp"

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
  engine_residue,
  allocator_cache
};
std::string_view name_of(MemoryCategory c);

struct LedgerLine {
  Role role = Role::actor;
  MemoryCategory category = MemoryCategory::weights;
  Bytes bytes;
  bool host = false;          // host memory (pinned copies) rather than GPU
  std::vector<Phase> phases;  // when it is there; empty: always
  std::string formula;        // how the number comes about, for people: "8,030,261,248 x 2 B"
  std::string name;           // tells lines of one category apart: "adapter", "fp32 logits"
  // Made by the role's first update: PyTorch's and Megatron's optimizers allocate their states in their first
  // step, and blocks are free in PyTorch's cache only after the peak of an update.
  bool from_first_update = false;
  // Made and freed again within its phases, micro-batch by micro-batch (models/phase_program.hpp).
  bool in_pass = false;
};

// Whether the line is there in a phase.
bool is_present(LedgerLine const& line, Phase phase);

inline constexpr std::string_view kRefitBuffer = "refit buffer";  // the line's name

// Ranks with the same lines.
struct RankLedger {
  std::string name;        // "stage 0", "stages 1-3", "rank"
  int pipeline_stage = 0;  // the first of them
  int ranks = 0;           // how many ranks of the cluster
  Bytes capacity;          // visible memory
  std::vector<LedgerLine> lines;
};

// One per pipeline stage (neighbouring stages with equal lines merged). dealt: of a role whose micro-batches
// are known the tokens of the largest, 0 where a pass had none yet; else the largest that the job allows.
std::vector<RankLedger> memory_ledger(Job const& job, ProcessMemory const& process = process_memory(),
                                      std::map<Role, MicroBatchTokens> const& dealt = {});

// The one of a pipeline stage: the last that starts at or before it.
std::size_t ledger_of_stage(std::vector<RankLedger> const& ledgers, int stage);

Bytes total(RankLedger const& l, Phase phase, bool host = false);
// The GPU lines of one category.
Bytes category_total(RankLedger const& l, Phase phase, MemoryCategory c);

struct MemoryPeak {
  Phase phase = Phase::generate;
  Bytes bytes;
};
// The largest total over the phases that the lines name (update_actor when they name none); of equal ones the
// first in the order of Phase.
MemoryPeak peak(RankLedger const& l, bool host = false);

// Host memory of the fullest node. Ranks are placed with pp outermost (Megatron's order), so a node holds
// neighbouring stages.
Bytes host_total(std::vector<RankLedger> const& ledgers, ClusterSpec const& c, Phase phase);
MemoryPeak host_peak(std::vector<RankLedger> const& ledgers, ClusterSpec const& c);

// Phases that any line names, in the order of Phase.
std::vector<Phase> named_phases(RankLedger const& l);

}  // namespace rollcast
