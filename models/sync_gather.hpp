// What a rank of the trainer holds of the model while it syncs weights, and what has to fit into the buffers.
#pragma once

#include <optional>
#include <string>

#include "models/job.hpp"
#include "models/ledger.hpp"
#include "models/process_memory.hpp"

namespace rollcast {

// FrameworkOptions::sync_gather: the whole model in the engine's type, or this rank's shards in the type that
// the trainer keeps them in, or sync_gathered; 0 where it goes tensor by tensor.
Bytes gathered_for_sync(Job const& job, RankLedger const& l);
// Whether it is gone when the colocated engine wakes (FrameworkOptions::gather_before_wake).
bool gathers_before_wake(Job const& job);

// NeMo-RL's buffer of a colocated sync: framework.refit_buffer, or a share of what is free on the GPU.
struct RefitRule {
  Bytes told;
  double share = 0;  // 0 and nothing told: no buffer
};
RefitRule refit_rule(Job const& job, ProcessMemory const& process);
Bytes refit_buffer(RefitRule const& rule, Bytes free);

// NeMo-RL's refit fills one half of its buffer while the engine reads the other, and stops where a tensor is
// larger than a half (before pull request 3356; FrameworkOptions::refit_whole_tensors). DeepSeek-V3:
// embed_tokens is 129,280 x 7,168 x 2 B = 1,853,358,080 B.
struct TooLarge {
  std::string tensor;
  Bytes bytes;
  Bytes half;
};
std::optional<TooLarge> too_large_for_refit(Job const& job, RankLedger const& l);

}  // namespace rollcast
