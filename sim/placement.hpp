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

// The data-parallel groups that reduce the gradients of one stage, one for each tensor-parallel position: the
// ranks of every replica and context-parallel position, ascending. All of them have the same times.
std::vector<std::vector<int>> gradient_groups(Job const& job, int stage);

// How many nodes a set of ranks touches.
int nodes_of(Job const& job, std::vector<int> const& ranks);

}  // namespace rollcast
