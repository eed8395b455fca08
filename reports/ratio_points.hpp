// The overrides that give a scenario's two sides other numbers of GPUs, put them on the same GPUs, or make
// its responses longer; and which sizes are worth a forecast. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/ratio_report.hpp"
#include "scenarios/scenario.hpp"

namespace rollcast {

// One side's pool.
struct SidePool {
  std::string name;
  bool by_gpus = false;  // parts of a node are possible
  int gpus = 0;          // in the file; of a colocated file 0
  int node_gpus = 1;     // of a whole node
  std::string node;
  std::string gpu;
};

// Where the two sides of a scenario are. A colocated file without pools gets two, train and rollout, of its
// nodes; below two nodes also parts of one.
struct RatioPlace {
  SidePool rollout;
  SidePool train;
  bool made = false;  // from a colocated file
  int cluster_gpus = 0;
  int cluster_node_gpus = 1;
  int other_gpus = 0;         // of pools that are neither side's
  bool pools_add_up = false;  // to the cluster: all pools have its nodes
  std::string no_colocation;  // why the two cannot share their GPUs; empty: they may
};

// A place, or why there is none and what to write.
struct RatioPlaceResult {
  std::optional<RatioPlace> place;
  Problem problem;
};
RatioPlaceResult ratio_place(Scenario const& s);

std::vector<std::string> size_sets(RatioPlace const& place, RatioSize const& size);
// All GPUs of both sides, synchronous.
std::vector<std::string> colocated_sets(RatioPlace const& place, int gpus);
// workload.response_tokens times factor; none for 1.
std::vector<std::string> length_sets(Job const& job, double factor);

// Every split of `total` into whole units of both sides (nodes; GPUs where a pool is by GPUs), each at least
// one, in ascending order of rollout GPUs.
std::vector<RatioSize> all_splits(RatioPlace const& place, int total);

// `most` of the splits, evenly spread, first and last among them, and `keep` where it is one. most >= 2.
std::vector<RatioSize> spread(std::vector<RatioSize> const& splits, std::size_t most,
                              std::optional<RatioSize> const& keep);

// The size times `factor` in whole units, at least one; above a node whole nodes.
int scaled_size(SidePool const& pool, int gpus, double factor);

}  // namespace rollcast
