// What programs take from a GPU beside their tensors. Measured by others, each with its source; versions
// drift, so a caller may pass its own numbers.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "models/job.hpp"

namespace rollcast {

struct CitedBytes {
  Bytes value;
  std::string source;
};

struct ProcessMemory {
  CitedBytes cuda_context;          // of each process on the GPU
  CitedBytes communicator_pair;     // NCCL buffers of one communicator of two ranks, per rank
  CitedBytes communicator;          // of more than two
  CitedBytes engine_communicators;  // all of a rollout engine of more than one rank, per rank
  CitedBytes engine_non_torch;      // grows outside PyTorch in a rollout engine's first forward
  CitedBytes cuda_graphs;           // of a rollout engine; outside the sleep pool
  CitedBytes engine_residue;        // of a sleeping engine beyond context, communicators and graphs
  CitedBytes sampler_per_logit;     // peak of a rollout engine's sampler, per sequence and vocabulary entry
  CitedBytes host_process;          // host memory of a process whose model is on a GPU
  double refit_share = 0;           // of the free memory, taken by the weight-sync buffer
  std::string refit_share_source;
};
ProcessMemory const& process_memory();

// Every number by name, for the test that demands a source of each.
std::vector<std::pair<std::string, CitedBytes>> cited_bytes(ProcessMemory const& m);

// NCCL buffers of a trainer's rank: one communicator per group of more than one rank among the world, tp, pp,
// cp, ep and the data-parallel group, and where the experts are cut or repeated otherwise than the rest, etp
// and their data-parallel group; a group that equals the world counted once.
Bytes trainer_communicators(Job const& job, ProcessMemory const& m);

}  // namespace rollcast
