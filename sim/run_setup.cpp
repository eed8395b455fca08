#include "sim/run_setup.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "models/engine_adapter.hpp"
#include "models/engine_start.hpp"
#include "models/engine_versions.hpp"
#include "models/gradient_buckets.hpp"
#include "models/kernels.hpp"
#include "models/rollout_prices.hpp"
#include "models/stage_layers.hpp"
#include "models/weight_sync.hpp"
#include "sim/cluster.hpp"
#include "sim/crossings.hpp"
#include "sim/followed_memory.hpp"
#include "sim/memory.hpp"
#include "sim/platform.hpp"
#include "sim/serving.hpp"

namespace rollcast {
namespace {

PoolInfo info_of(Pool const& pool, Profile const& profile) {
  Gpu const& gpu = pool.cluster.node.gpu;
  return {.name = pool.name,
          .node = pool.cluster.node.name,
          .gpu = gpu.name,
          .gpus = pool.cluster.gpus(),
          .peak_flops = gpu.bf16,
          .memory_bandwidth = gpu.memory_bandwidth,
          .capacity = gpu.visible_memory,
          .prices = profile.note};
}

// What passes exchange between nodes is priced, not simulated: with what the calls leave of a NIC.
void price_shared_network(NetworkOptions const& n, PoolState& pool) {
  ClusterSpec const& c = pool.job.cluster;
  if (c.nodes < 2 || c.node.nics == 0) return;
  BytesPerSecond const nic = min(c.node.nic, c.fabric.nic);
  double const share = left_to_collectives(n, nic) / nic;
  if (share < 1)
    pool.slow_prices = std::make_unique<CollectivePrices>(pool.profile, with_slower_nics(c, share));
}

void add_pool(RunState& run, int index, Profile const& profile) {
  Job job = on_pool(run.job, index);
  int const first_class = static_cast<int>(run.log.rank_classes.size());
  Placement placement = place(job, first_class);
  EventLog& log = run.log;
  log.rank_classes.insert(log.rank_classes.end(), placement.classes.begin(), placement.classes.end());
  auto prices = std::make_unique<CollectivePrices>(profile, job.cluster);
  run.pools.push_back(std::make_unique<PoolState>(PoolState{.index = index,
                                                            .job = std::move(job),
                                                            .profile = profile,
                                                            .prices = std::move(prices),
                                                            .placement = std::move(placement)}));
  price_shared_network(run.job.network, *run.pools.back());
  take_ledgers(run, *run.pools.back());
  follow_memory(*run.pools.back(), run.options);
}

std::vector<Stage> stages_of(Job const& job, Role role) {
  std::vector<Stage> stages = pipeline_stages(job.model, job.train, job.train.virtual_stages);
  // A value head has one output.
  if (has_value_head(role)) stages.back().has_lm_head = false;
  return stages;
}

void add_teams(RunState& run) {
  for (ModelRole const& r : model_roles(run.job.algorithm)) {
    if (r.shares_actor_weights) continue;
    PoolState& pool = *run.pools[static_cast<std::size_t>(pool_of(run.job, r.role))];
    Job job = for_role(run.job, r.role);
    std::vector<Stage> stages = stages_of(job, r.role);
    run.teams.push_back(std::make_unique<Team>(Team{r.role, std::move(job), &pool, std::move(stages), {}}));
  }
}

bool is_trained(Role role) { return role == Role::actor || role == Role::critic; }

// Those that slow down a NIC of the pool.
std::vector<Fault const*> link_faults(Job const& job, PoolState const& pool) {
  std::vector<Fault const*> out;
  for (Fault const& f : job.faults) {
    if (f.kind == FaultKind::link && f.pool == pool.index && has_network(pool.job)) out.push_back(&f);
  }
  return out;
}

// Calls that are always under way take their part of every NIC.
void share_network(NetworkOptions const& n, Cluster& cluster) {
  cluster.shared = cluster.capacity;
  for (Cable const& nic : cluster.network.nic) {
    for (LinkId link : {nic.up, nic.down}) {
      if (link < 0) continue;
      BytesPerSecond& capacity = cluster.shared[static_cast<std::size_t>(link)];
      capacity = left_to_collectives(n, capacity);
    }
  }
}

// One sender to engines on other nodes; parts of the model go out of all ranks, which the prices spread.
bool sends_weights_away(RunState const& run, PoolState const& pool) {
  if (!has_rollout(run.job.algorithm) || pool_of(run.job, Role::actor) != pool.index) return false;
  int const engines = pool_of(run.job, Role::rollout);
  bool const apart = engines != pool.index && !same_node(run.job, pool.index, engines);
  return apart && pool.job.cluster.node.nics > 0 &&
         sync_method(run.job, SyncDistance::apart) != SyncMethod::point_to_point;
}

// The gradient groups of all trained models on a pool; their links are shared, so they are planned together.
void add_gradient_groups(RunState& run, PoolState& pool) {
  std::vector<Team*> trained;
  for (auto const& t : run.teams) {
    if (t->pool == &pool && is_trained(t->role)) trained.push_back(t.get());
  }
  if (trained.empty()) return;
  Cluster cluster = build_cluster(pool.job.cluster, pool.profile);
  share_network(run.job.network, cluster);
  std::vector<Traffic> traffics;
  int const pp = pool.job.train.parallel.pp;
  auto const add_traffic = [&](std::string name, std::vector<std::vector<int>> const& groups) {
    Traffic traffic{std::move(name), {}};
    for (auto const& ranks : groups) traffic.copies.push_back(ring_crossings(cluster, ranks));
    traffics.push_back(std::move(traffic));
  };
  for (Team const* team : trained) {
    std::string const of = team->role == Role::actor ? "" : fmt::format("{} ", name_of(team->role));
    for (int stage = 0; stage < pp; ++stage) {
      add_traffic(fmt::format("{}gradients of stage {}", of, stage), gradient_groups(team->job, stage));
      if (has_expert_groups(team->job))
        add_traffic(fmt::format("{}expert gradients of stage {}", of, stage),
                    expert_gradient_groups(team->job, stage));
    }
  }
  std::size_t const first_fault = traffics.size();
  std::vector<Fault const*> const faults = link_faults(run.job, pool);
  for (Fault const* f : faults) {
    Cable const& cable =
        cluster.network.nic[static_cast<std::size_t>(f->node * pool.job.cluster.node.nics + f->nic)];
    for (LinkId link : {cable.up, cable.down}) traffics.push_back({"faulty NIC", {{{link, 1}}}});
  }
  if (sends_weights_away(run, pool))
    traffics.push_back({"weight sync", {outside_crossings(cluster, 0, Heading::out)}});
  auto parts = build_platform(run.engine, cluster, traffics);
  if (sends_weights_away(run, pool)) {
    pool.sync_parts = parts.back();
    parts.pop_back();
  }
  for (std::size_t i = first_fault; i < parts.size(); ++i) {
    Fault const& f = *faults[(i - first_fault) / 2];
    pool.fault_links.push_back({f.node, f.nic, parts[i].front().links.front(), parts[i].front().narrowest});
  }
  std::size_t next = 0;
  auto const add_communicator = [&](Team const& team) {
    CommunicatorSpec spec{traffics[next].name, data_parallel(team.job), parts[next]};
    ++next;
    return run.collectives.add_communicator(std::move(spec));
  };
  for (Team* team : trained) {
    for (int stage = 0; stage < pp; ++stage) {
      team->gradients.push_back(add_communicator(*team));
      if (has_expert_groups(team->job)) team->expert_gradients.push_back(add_communicator(*team));
    }
  }
}

// The profile with what this release of the engine does between kernels, where it is known.
Profile with_release(Profile profile, EngineOptions const& e) {
  EngineOverhead const* const release = overhead_of_version(e.kind, e.version);
  if (release == nullptr) return profile;
  std::erase_if(profile.engines, [&](EngineOverhead const& o) { return o.engine == e.kind; });
  profile.engines.push_back(scaled(*release, other_prices(profile).releases));
  return profile;
}

void add_rollout(RunState& run) {
  if (!has_rollout(run.job.algorithm)) return;
  PoolState& pool = *run.pools[static_cast<std::size_t>(pool_of(run.job, Role::rollout))];
  Job const& job = pool.job;
  RolloutPool rollout{.job = job, .pool = &pool};
  if (job.rollout.kind != EngineKind::hf) {
    Profile const profile = with_release(pool.profile, job.rollout);
    EngineOverhead const* const overhead = find_overhead(profile.engines, job.rollout.kind);
    rollout.prices = rollout_step_prices(profile, *pool.prices, job.model, job.rollout);
    auto const& adapter = job.algorithm.adapter;
    if (adapter && adapter->sync == AdapterSync::adapter)
      rollout.prices = with_adapter(std::move(rollout.prices), profile, job.model, job.rollout, *adapter);
    rollout.kv_blocks = kv_blocks(job);
    if (overhead != nullptr) rollout.least_prefill_step = least_prefill_step(*overhead, job.model);
    if (adapter && adapter->sync == AdapterSync::adapter)
      rollout.least_prefill_step += adapter_launches(profile, job.model, job.rollout, *adapter);
  }
  run.rollout = std::move(rollout);
}

}  // namespace

Team& RunState::team(Role role) const {
  Team* const found = find_team(role);
  if (found == nullptr) throw std::logic_error(fmt::format("the run has no {}", name_of(role)));
  return *found;
}

EventLog new_log(Scenario const& scenario, std::span<Profile const* const> of_pools,
                 RunOptions const& options) {
  EventLog log;
  log.scenario = scenario.name;
  log.seed = options.seed;
  std::vector<Pool> const pools = pools_of(scenario.job);
  if (pools.size() != of_pools.size()) throw std::logic_error("one profile for each pool");
  for (std::size_t i = 0; i < pools.size(); ++i) log.pools.push_back(info_of(pools[i], *of_pools[i]));
  if (scenario.measured) {
    log.measured = scenario.measured->values;
    log.measured_source = scenario.measured->source;
  }
  return log;
}

void set_up(RunState& run, std::span<Profile const* const> of_pools) {
  for (std::size_t i = 0; i < of_pools.size(); ++i) add_pool(run, static_cast<int>(i), *of_pools[i]);
  add_teams(run);
  for (auto const& pool : run.pools) add_gradient_groups(run, *pool);
  add_rollout(run);
  if (run.job.serve) set_up_serving(run);
}

}  // namespace rollcast
