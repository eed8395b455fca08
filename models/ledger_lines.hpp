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

// "8,030,261,248"
std::string grouped(double n);

}  // namespace rollcast
