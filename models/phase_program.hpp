// What the program of one rank asks of PyTorch's allocator while a phase computes, in order.
//
// Forward pass alone, micro-batch by micro-batch: the buffers of the pass (models/update_buffers.hpp), layer
// by layer its working set, then logits and the copies that the log-probabilities need, then the entropy's.
// Update, optimizer step by optimizer step: the buffers of the pass; of each micro-batch, in the order of a
// 1F1B pipeline, what every layer keeps, the head's inputs, the logits and their copies; going back the
// layers again with what they recompute and the gradients of activations, and parameter gradients as they
// come where autograd makes them; then the optimizer's states in a role's first step, and the step's own
// buffers. At each of the moments of models/update_moment.hpp the sum is that of the ledger.
//
// What a layer keeps or recomputes is one formula of models/activations.hpp; it is written as equal tensors
// of about 2 x hidden bytes per token, the size of most of them. Of micro-batches of one size in a row only
// the first three are written (of a pipeline as many more as are under way at once), and those next to one of
// another size: the fourth finds the allocator as the third did.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/job.hpp"
#include "models/roles.hpp"

namespace rollcast {

struct ProgramEvent {
  enum class Kind { allocate, free, make_states };
  Kind kind = Kind::allocate;
  int block = 0;  // counted from 0; freed before the program ends
  std::int64_t bytes = 0;
  std::int64_t stream = 0;
  int name = 0;         // index into names
  int micro_batch = 0;  // counted from 0 over the phase; of an update over its optimizer steps
  double work = 0;      // done before it, as forward passes of a layer
};

struct PhaseProgram {
  std::vector<ProgramEvent> events;
  std::vector<std::string> names;  // "actor logits: fp32 logits"
  int blocks = 0;
  double work = 0;  // of all of it
};

// tokens: of one rank's micro-batches, in order.
PhaseProgram forward_program(Job const& of_role, ModelRole const& r, int stage,
                             std::vector<double> const& tokens);

// tokens[optimizer step][micro-batch]. first_stream: of those that the job makes anew for the gathers of
// every step (TrainerOptions::fresh_streams), numbered on from it.
PhaseProgram update_program(Job const& of_role, ModelRole const& r, int stage,
                            std::vector<std::vector<double>> const& tokens, std::int64_t first_stream = 1);

// A weight sync that gathers the model before it sends it (FrameworkOptions::sync_gather).
PhaseProgram gather_program(Bytes gathered, int pieces);

}  // namespace rollcast
