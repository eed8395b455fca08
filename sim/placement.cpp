#include "sim/placement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "models/pools.hpp"

namespace rollcast {
namespace {

std::string class_name(std::vector<int> const& ranks) {
  if (ranks.size() == 1) return fmt::format("rank {}", ranks.front());
  int const last = ranks.front() + static_cast<int>(ranks.size()) - 1;
  if (ranks.back() == last) return fmt::format("ranks {}-{}", ranks.front(), last);
  return fmt::format("ranks {}, {}, ...", ranks.front(), ranks[1]);
}

// Whom a fault makes differ from its like.
std::set<int> ranks_with_faults(Job const& job) {
  std::set<int> ranks;
  for (Fault const& f : job.faults) {
    if (f.pool == std::max(0, job.only_pool) && f.kind != FaultKind::server)
      ranks.insert(f.ranks.begin(), f.ranks.end());
  }
  return ranks;
}

}  // namespace

Placement place(Job const& job, int first_class) {
  Parallel const& train = job.train.parallel;
  bool const trains = holds_models(job);
  bool const rolls = has_rollout(job.algorithm) && runs_here(job, Role::rollout);
  int const within_stage = train.tp * train.cp;
  int const replicas = trains ? data_parallel(job) : 1;
  int const engine_size = job.rollout.parallel.ranks_per_replica();
  Placement p;
  p.first_class = first_class;
  if (rolls) p.classes_of_engine.resize(static_cast<std::size_t>(rollout_engines(job)));
  if (trains)
    p.classes_of_stage.assign(static_cast<std::size_t>(replicas),
                              std::vector<std::vector<int>>(static_cast<std::size_t>(train.pp)));
  std::set<int> const apart = ranks_with_faults(job);
  std::map<std::tuple<int, int, int, int>, int> known;
  for (int rank = 0; rank < job.cluster.gpus(); ++rank) {
    int const replica = trains ? rank / within_stage % replicas : 0;
    int const stage = trains ? rank / within_stage / replicas : 0;
    int const engine = rolls ? rank / engine_size : 0;
    auto const [at, is_new] = known.try_emplace({stage, replica, engine, apart.contains(rank) ? rank : -1},
                                                static_cast<int>(p.classes.size()));
    if (is_new) {
      int const number = first_class + at->second;
      p.classes.push_back({.name = {},
                           .pool = std::max(0, job.only_pool),
                           .node = rank / job.cluster.node.gpus,
                           .ranks = {}});
      p.places.push_back({stage, replica, engine});
      if (rolls) p.classes_of_engine[static_cast<std::size_t>(engine)].push_back(number);
      if (trains)
        p.classes_of_stage[static_cast<std::size_t>(replica)][static_cast<std::size_t>(stage)].push_back(
            number);
    }
    p.classes[static_cast<std::size_t>(at->second)].ranks.push_back(rank);
  }
  for (RankClassInfo& c : p.classes) {
    c.name = class_name(c.ranks);
    if (job.pools.size() > 1) c.name = job.pools[static_cast<std::size_t>(c.pool)].name + " " + c.name;
  }
  return p;
}

std::vector<std::vector<int>> gradient_groups(Job const& job, int stage) {
  Parallel const& train = job.train.parallel;
  int const group_size = data_parallel(job) * train.cp;
  std::vector<std::vector<int>> groups(static_cast<std::size_t>(train.tp));
  for (int tp = 0; tp < train.tp; ++tp) {
    for (int i = 0; i < group_size; ++i) {
      groups[static_cast<std::size_t>(tp)].push_back((stage * group_size + i) * train.tp + tp);
    }
  }
  return groups;
}

std::vector<std::vector<int>> expert_gradient_groups(Job const& job, int stage) {
  int const block = job.train.parallel.expert_block();
  int const copies = expert_data_parallel(job);
  std::vector<std::vector<int>> groups(static_cast<std::size_t>(block));
  for (int place = 0; place < block; ++place) {
    for (int i = 0; i < copies; ++i) {
      groups[static_cast<std::size_t>(place)].push_back((stage * copies + i) * block + place);
    }
  }
  return groups;
}

int nodes_of(Job const& job, std::vector<int> const& ranks) {
  std::set<int> nodes;
  for (int rank : ranks) nodes.insert(rank / job.cluster.node.gpus);
  return static_cast<int>(nodes.size());
}

}  // namespace rollcast
