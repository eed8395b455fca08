// What a weight sync carries, tensor by tensor: the model in the engine's type, or the factors of an adapter.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/architecture.hpp"
#include "models/job.hpp"

namespace rollcast {

// One tensor of the checkpoint, or several equal experts that both layouts keep together.
struct SyncTensor {
  Tensor tensor;    // copies 1; of an adapter's factor, its own shape and split
  int layer = -1;   // -1: outside the layers
  int ordinal = 0;  // of the tensor within its layer, plus the layer: turns the choice among equal sources
  int first_expert = 0;
  int experts = 1;
  bool factor = false;     // of an adapter
  bool quantized = false;  // one byte an element, and scales
  int element_bytes = 2;   // on the wire
};

// "layers.3.mlp.experts.5.up_proj.weight", "norm.weight".
std::string full_name(SyncTensor const& t);

struct SyncPayload {
  DType weights = DType::bf16;  // of the engine; fp8: of the quantized tensors
  DType plain = DType::bf16;    // under fp8: of the others; of an adapter's factors: the trainer's type
  Fp8Scaling scaling = Fp8Scaling::block;
  std::optional<Adapter> factors;  // these alone
};
// What the job syncs: the factors where adapter.sync is adapter, else the (merged) weights.
SyncPayload sync_payload(Job const& job, Fp8Scaling scaling);

// In the order of the layers, outer tensors last. Quantized to fp8: the matrix products of the layers that
// block-scaled checkpoints (DeepSeek-V3) quantize, so not the router, the shared experts' gate, the small
// projections of linear attention, embedding and head. Experts come in runs that end at the multiples of
// `train_run` and `engine_run`, the experts of one expert-parallel rank of either side; `apart`: one by one.
struct ExpertRuns {
  int train = 1;
  int engine = 1;
  int engine_longer = 0;  // the first so many ranks of the engine hold one expert more
  bool apart = false;
};
std::vector<SyncTensor> sync_tensors(Architecture const& a, SyncPayload const& payload,
                                     ExpertRuns const& runs);

// The expert-parallel rank that holds an expert: `longer` ranks of run + 1 experts, then ranks of run.
int expert_rank(int expert, int run, int longer);
int first_expert_of(int rank, int run, int longer);

}  // namespace rollcast
