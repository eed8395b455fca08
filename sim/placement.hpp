// Who runs where: the place of every rank in trainer and rollout engines, and the rank classes that follow.
//
// Rank order is Megatron's default tp-cp-dp-pp: tensor-parallel neighbours are adjacent, pipeline stages
// outermost. Rollout engines take consecutive ranks. A pool holds models, engines or both on all its ranks.
#pragma once

#include <vector>

#include "models/job.hpp"
#include "sim/event_log.hpp"

namespace rollcast {

// Ranks with the same stage, replica and engine have the same program, lengths and times; a rank with a fault
// is a class of its own.
struct ClassPlace {
  int stage = 0;
  int replica = 0;
  int engine = 0;
};

struct Placement {
  int first_class = 0;  // number of classes.front() among those of all pools
  std::vector<RankClassInfo> classes;
  std::vector<ClassPlace> places;                   // of each class
  std::vector<std::vector<int>> classes_of_engine;  // class numbers; empty where no engine runs here
  // classes_of_stage[replica][stage]: class numbers; the first one stands for the stage's times. Empty where
  // no model of the trainer runs here.
  std::vector<std::vector<std::vector<int>>> classes_of_stage;

  ClassPlace const& place_of(int rank_class) const {
    return places[static_cast<std::size_t>(rank_class - first_class)];
  }
};

// job: as one pool sees it. Ranks are numbered within the pool; with several pools a class name begins with
// its pool's.
Placement place(Job const& job, int first_class = 0);

// The data-parallel groups that reduce the gradients of one stage, one for each tensor-parallel position: the
// ranks of every replica and context-parallel position, ascending. All of them have the same times.
std::vector<std::vector<int>> gradient_groups(Job const& job, int stage);

// The groups that reduce the gradients of the experts of one stage: ranks with the same part of them, which
// lie etp x ep apart (Megatron core/parallel_state.py: the experts' rank generator orders etp, ep, data).
std::vector<std::vector<int>> expert_gradient_groups(Job const& job, int stage);

// How many nodes a set of ranks touches.
int nodes_of(Job const& job, std::vector<int> const& ranks);

}  // namespace rollcast
