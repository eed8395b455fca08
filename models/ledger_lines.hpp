// The lines of one rank's ledger, by what causes them.
#pragma once

#include <string>
#include <vector>

#include "models/activations.hpp"
#include "models/ledger.hpp"
#include "models/pools.hpp"
#include "models/process_memory.hpp"
#include "models/residency.hpp"

namespace rollcast {

// Appends the line for the GPU and for the host where residency names phases; nothing for zero bytes.
struct LineText {
  Role role;
  MemoryCategory category;
  std::string name;
  std::string formula;
};
void add_line(std::vector<LedgerLine>& lines, Job const& job, LineText const& text, Bytes amount,
              Residency const& where);
void add_line(std::vector<LedgerLine>& lines, LineText const& text, Bytes amount,
              std::vector<Phase> const& phases);

// Weights, gradients, master weights and optimizer states of one model on a rank of pipeline stage `stage`;
// gradients as many as are there at the largest moment of the update (models/update_moment.hpp).
void add_state_lines(std::vector<LedgerLine>& lines, Job const& job, ModelRole const& r, int stage,
                     MicroBatchTokens const& tokens);

// Activations, logits and gather buffers of one model.
void add_compute_lines(std::vector<LedgerLine>& lines, Job const& job, ModelRole const& r, int stage,
                       MicroBatchTokens const& tokens);

// Everything of the trainer on a rank of pipeline stage `stage`: its models and its process.
std::vector<LedgerLine> trainer_lines(Job const& job, int stage, ProcessMemory const& process,
                                      std::map<Role, MicroBatchTokens> const& dealt = {});

// The colocated rollout engine, asleep and awake.
void add_engine_lines(std::vector<LedgerLine>& lines, Job const& job, ProcessMemory const& process);

// The trainer's own process: CUDA context and communicators.
void add_process_lines(std::vector<LedgerLine>& lines, Job const& job, ProcessMemory const& process);

// PyTorch keeps what the trainer's largest phase has freed, unless the framework empties its cache; an engine
// that wakes allocates from the driver, which does not get it. Of the lines so far, which are the trainer's.
void add_allocator_cache(RankLedger& l, Job const& job);

// A sync that gathers the model before it sends it. Where that is over before the engine's weights wake, only
// what is more than these.
void add_sync_gather(RankLedger& l, Job const& job);

// NeMo-RL fills a buffer of a share of the free memory with weights and hands it to the engine by CUDA IPC.
void add_refit_buffer(RankLedger& l, Job const& job, ProcessMemory const& process);

// Whether the GPUs of this view write checkpoints.
bool saves_here(Job const& job);
// A checkpoint comes after the step: what its last phase holds is there.
void keep_for_checkpoint(std::vector<LedgerLine>& lines, Job const& job);
// The same, and what is serialized.
void add_checkpoint(RankLedger& l, Job const& job, int stage);

// Stages of this view; a pool of engines alone has none of the trainer's, and counts as one.
int stages_here(Job const& job);
// Whether the engines run on the GPUs of this view.
bool engines_here(Job const& job);

// "8,030,261,248"
std::string grouped(double n);

}  // namespace rollcast
