#include "reports/ratio_points.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "models/pools.hpp"
#include "reports/scaled_lengths.hpp"

namespace rollcast {
namespace {

bool is_written(Scenario const& s, std::string const& key) {
  return std::any_of(s.origins.begin(), s.origins.end(),
                     [&](Origin const& o) { return o.key == key && o.from != "default"; });
}

SidePool side_of(Scenario const& s, int pool) {
  Pool const& p = s.job.pools.at(static_cast<std::size_t>(pool));
  Node const& node = p.cluster.node;
  SidePool side{p.name,           is_written(s, "pools." + p.name + ".gpus"),
                p.cluster.gpus(), node.gpus,
                node.name,        node.gpu.name};
  if (p.part_of_node && node.name == s.job.cluster.node.name) side.node_gpus = s.job.cluster.node.gpus;
  return side;
}

RatioPlace made_place(Job const& job) {
  Node const& node = job.cluster.node;
  bool const by_gpus = job.cluster.nodes == 1;
  RatioPlace place;
  place.rollout = {"rollout", by_gpus, 0, node.gpus, node.name, node.gpu.name};
  place.train = {"train", by_gpus, 0, node.gpus, node.name, node.gpu.name};
  place.made = true;
  place.pools_add_up = true;
  return place;
}

RatioPlace place_in_pools(Scenario const& s) {
  Job const& job = s.job;
  RatioPlace place;
  place.rollout = side_of(s, job.role_pools.rollout);
  place.train = side_of(s, job.role_pools.actor);
  std::string const& node = job.cluster.node.name;
  place.pools_add_up = std::all_of(job.pools.begin(), job.pools.end(),
                                   [&](Pool const& p) { return p.cluster.node.name == node; });
  place.other_gpus = static_cast<int>(total_gpus(job)) - place.rollout.gpus - place.train.gpus;
  if (job.pools.size() > 2)
    place.no_colocation = "the file has further pools";
  else if (place.rollout.node != place.train.node)
    place.no_colocation =
        fmt::format("the pools have different nodes ({} and {})", place.train.node, place.rollout.node);
  else if (!place.pools_add_up)
    place.no_colocation = "the pools' nodes are not those of the cluster";
  return place;
}

void add_size(std::vector<std::string>& sets, SidePool const& pool, int gpus) {
  if (pool.by_gpus)
    sets.push_back(fmt::format("pools.{}.gpus={}", pool.name, gpus));
  else
    sets.push_back(fmt::format("pools.{}.nodes={}", pool.name, gpus / pool.node_gpus));
}

int unit(SidePool const& pool) { return pool.by_gpus ? 1 : pool.node_gpus; }

}  // namespace

RatioPlaceResult ratio_place(Scenario const& s) {
  Job const& job = s.job;
  if (job.serve)
    return {{},
            {s.file, 0, 0, "serve", "nothing is trained, so that there is nothing to split",
             "give a scenario of grpo or ppo, or compare numbers of nodes with sweep", ""}};
  if (!generates(job.algorithm.kind))
    return {{},
            {s.file, 0, 0, "algorithm.kind", "nothing is generated, so that there is nothing to split",
             "give a scenario of grpo or ppo", ""}};
  if (colocated(job) && !job.pools.empty())
    return {{},
            {s.file, 0, 0, "rollout.pool", "trainer and engines share a pool beside others",
             "give each a pool of its own, or write no pools", ""}};
  RatioPlace place = job.pools.empty() ? made_place(job) : place_in_pools(s);
  place.cluster_gpus = static_cast<int>(job.cluster.gpus());
  place.cluster_node_gpus = job.cluster.node.gpus;
  return {place, {}};
}

std::vector<std::string> size_sets(RatioPlace const& place, RatioSize const& size) {
  std::vector<std::string> sets;
  if (place.made) {
    sets = {fmt::format("pools={{train: {{gpus: {}}}, rollout: {{gpus: {}}}}}", size.train_gpus,
                        size.rollout_gpus),
            "train.pool=train", "rollout.pool=rollout"};
  } else {
    add_size(sets, place.train, size.train_gpus);
    add_size(sets, place.rollout, size.rollout_gpus);
  }
  if (place.pools_add_up)
    sets.push_back(
        fmt::format("cluster.nodes={}", (size.total() + place.other_gpus) / place.cluster_node_gpus));
  return sets;
}

std::vector<std::string> colocated_sets(RatioPlace const& place, int gpus) {
  std::string const nodes = fmt::format("cluster.nodes={}", gpus / place.cluster_node_gpus);
  if (place.made) return {nodes, "schedule=synchronous"};
  return {fmt::format("pools={{all: {{gpus: {}}}}}", gpus),
          nodes,
          "train.pool=all",
          "rollout.pool=all",
          "placement={}",
          "schedule=synchronous"};
}

std::vector<std::string> length_sets(Job const& job, double factor) {
  if (std::abs(factor - 1) < 1e-12) return {};
  return {"workload.response_tokens=" + scaled_lengths(job.workload.response_tokens, factor)};
}

std::vector<RatioSize> all_splits(RatioPlace const& place, int total) {
  int const step = std::lcm(unit(place.rollout), unit(place.train));
  std::vector<RatioSize> splits;
  for (int r = step; r < total; r += step) {
    if ((total - r) % unit(place.train) == 0) splits.push_back({r, total - r});
  }
  return splits;
}

std::vector<RatioSize> spread(std::vector<RatioSize> const& splits, std::size_t most,
                              std::optional<RatioSize> const& keep) {
  if (splits.size() <= most) return splits;
  std::vector<RatioSize> out;
  std::size_t next = 0;
  for (std::size_t i = 0; i < splits.size(); ++i) {
    bool const due = i * (most - 1) >= next * (splits.size() - 1);
    if (due) ++next;
    if (due || (keep && splits[i] == *keep)) out.push_back(splits[i]);
  }
  return out;
}

int scaled_size(SidePool const& pool, int gpus, double factor) {
  double const wanted = gpus * factor;
  int const step = pool.by_gpus && wanted < pool.node_gpus ? 1 : pool.node_gpus;
  return std::max(step, static_cast<int>(std::lround(wanted / step)) * step);
}

}  // namespace rollcast
