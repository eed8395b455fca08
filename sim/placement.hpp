// Who runs where: the place of every rank in trainer and rollout engines, and the rank classes that follow.
//
// Rank order is Megatron's default tp-cp-dp-pp: tensor-parallel neighbours are adjacent, pipeline stages
// outermost. Rollout engines take consecutive ranks. Colocated: trainer and engines share all ranks of the
// one pool.
#pragma once

#include <vector>

#include "models/job.hpp"
#include "sim/event_log.hpp"

namespace rollcast {

// Ranks with the same stage, replica and engine have the same program, lengths and times.
struct ClassPlace {
  int stage = 0;
  int replica = 0;
  int engine = 0;
};

struct Placement {
  std::vector<RankClassInfo> classes;
  std::vector<ClassPlace> places;                   // of each class
  std::vector<std::vector<int>> classes_of_engine;  // class indices
  // classes_of_stage[replica][stage]: class indices; the first one stands for the stage's times.
  std::vector<std::vector<std::vector<int>>> classes_of_stage;
};

Placement colocated_placement(Job const& job);

// Ranks of one data-parallel group: those of `stage` with tensor- and context-parallel position 0, one per
// replica.
std::vector<int> data_parallel_ranks(Job const& job, int stage);

}  // namespace rollcast
