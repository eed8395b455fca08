// The reshard map: which elements of which tensor go from which rank of the trainer to which rank of the
// rollout engines.
//
// A source part and a destination part meet in rectangles of the logical matrix; each is a strided copy
// (cudaMemcpy2D). A rank receives each of its elements once. Where several ranks hold the part that it
// needs, it takes that of
//   1. its own GPU,
//   2. else a rank on its node; its node's ranks that ask take them in turn,
//   3. else any rank; all that ask take them in turn.
// The turn begins at SyncTensor::ordinal, so that over the tensors of a model the copies send alike.
//
// fp8: elements are quantized before they are sent, one byte each. Scales (fp32) are per block of 128 x 128
// of the tensor, or one per tensor; an engine's rank has one of every block that it holds a part of, and
// receives it from where the first element that it holds of that block comes from. A block that lies in
// several parts of the trainer needs the largest absolute value of all of them first (cut_blocks).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/rollout_shards.hpp"
#include "models/train_shards.hpp"

namespace rollcast {

// Where a rank of a pool is: GPU and node, counted over all pools.
struct RankPlace {
  int gpu = 0;
  int node = 0;
};

enum class SyncLink { same_gpu, node, network };
inline constexpr int kSyncLinks = 3;
std::string_view name_of(SyncLink l);
SyncLink link_between(RankPlace a, RankPlace b);

struct Reshard {
  Architecture model;
  TrainLayout train;
  RolloutLayout rollout;
  SyncPayload payload;
  std::vector<RankPlace> train_places;  // of each rank
  std::vector<RankPlace> rollout_places;
};

struct ReshardOptions {
  Fp8Scaling scaling = Fp8Scaling::block;  // of an engine in fp8
  bool flat_parameters = false;            // of FSDP: FSDP1
};
// std::logic_error for a job without rollout.
Reshard reshard_of(Job const& job, ReshardOptions const& options);

std::vector<SyncTensor> sync_tensors(Reshard const& r);

// A rectangle that goes from a part of the trainer to one of the engines.
struct PartCopy {
  IndexRange rows;  // of the logical matrix
  IndexRange columns;
  std::int64_t source_offset = 0;  // elements in the stored parameter; rows are `stride` apart
  std::int64_t source_stride = 0;
  std::int64_t destination_offset = 0;
  std::int64_t destination_stride = 0;
};

// All copies from one part to another, and who carries them out.
struct PartPair {
  int source = 0;  // index into the parts
  int destination = 0;
  std::vector<PartCopy> copies;
  std::int64_t elements = 0;
  std::int64_t scales = 0;
  std::int64_t bytes = 0;  // elements and scales, for one receiving rank
  struct Flow {
    int source_rank = 0;
    int destination_rank = 0;
    SyncLink link = SyncLink::same_gpu;
  };
  std::vector<Flow> flows;
};

struct TensorMap {
  Shards source;
  Shards destination;
  std::vector<PartPair> pairs;
};
// Of one of t.experts equal experts, where there are several.
TensorMap map_tensor(Reshard const& r, SyncTensor const& t);

// The same as one list.
struct RankCopy {
  int source_rank = 0;
  int destination_rank = 0;
  SyncLink link = SyncLink::same_gpu;
  PartCopy what;
  std::int64_t bytes = 0;  // without scales
};
std::vector<RankCopy> copies_of(TensorMap const& m, SyncTensor const& t);

}  // namespace rollcast
