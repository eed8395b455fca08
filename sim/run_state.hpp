// What the phases of one run share: pools, the models and engines on them, prices, the engine and the log.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "models/collective_prices.hpp"
#include "models/pools.hpp"
#include "models/profile.hpp"
#include "models/rank_memory.hpp"
#include "models/staleness.hpp"
#include "models/stall.hpp"
#include "models/step_prices.hpp"
#include "models/switching.hpp"
#include "models/training.hpp"
#include "sim/collectives.hpp"
#include "sim/engine.hpp"
#include "sim/placement.hpp"
#include "sim/recorder.hpp"
#include "sim/samples.hpp"
#include "sim/simulate.hpp"

namespace rollcast {

// A rank of a pipeline stage, followed through PyTorch's allocator (sim/followed_memory.hpp).
struct FollowedRank {
  int stage = 0;
  RankMemory memory;
  std::int64_t next_stream = 1;
};

struct Team;
struct Batch;
struct AdapterPlan;
struct AdapterRoutes;

// Where a replica stands in an update.
struct ReplicaProgress {
  std::size_t optimizer_step = 0;
  Seconds start;
};

// What a pool does: for those who must say who waits for whom when a rank stops.
struct Progress {
  Phase phase = Phase::generate;
  Batch* batch = nullptr;
  Team* team = nullptr;  // that computes; nullptr: none
  Seconds start;         // of its work
  std::vector<ReplicaProgress> replicas = {};
};

// One direction of a NIC's cable that a fault slows down, a class of its own.
struct FaultLink {
  int node = 0;
  int nic = 0;
  LinkClassId link;
  BytesPerSecond capacity;
};

// The GPUs of one pool. Rank classes are numbered over all pools, those of a pool are neighbours.
struct PoolState {
  int index = 0;
  Job job;  // as the pool sees it
  Profile const& profile;
  std::unique_ptr<CollectivePrices> prices;
  Placement placement;
  std::vector<RankLedger> ledgers = {};
  std::vector<int> ledger_of_class = {};  // of each of its classes
  std::vector<FollowedRank> followed = {};
  Seconds idle_since = {};
  std::optional<Progress> progress = {};  // none: between two phases
  std::vector<double> slowdown = {};      // of each rank's kernels; empty: none is slow
  // Of what passes exchange between nodes, once a NIC is slower.
  std::unique_ptr<CollectivePrices> slow_prices = {};
  std::vector<MissingRank> stopped = {};  // by a fault while the pool was idle
  std::string stop_cause = {};
  std::vector<FaultLink> fault_links = {};
  std::vector<int> cut_ranks = {};  // whose NIC carries nothing
  std::string damage = {};          // what is slow or cut, as a sentence
  std::vector<FlowPart> sync_parts =
      {};  // the way of the weights to another pool's nodes, out of the first rank
  std::optional<AlarmId> idle_limit =
      {};  // when those that wait for another pool's work have waited too long

  int classes() const { return static_cast<int>(placement.classes.size()); }
  int first_class() const { return placement.first_class; }
  CollectivePrices& pass_prices() const { return slow_prices ? *slow_prices : *prices; }
  RankLedger const& ledger_of(int rank_class) const {
    return ledgers[static_cast<std::size_t>(
        ledger_of_class[static_cast<std::size_t>(rank_class - first_class())])];
  }
};

// A model that the trainer runs on its pool: the actor, a critic, a reference or a reward model.
struct Team {
  Role role = Role::actor;
  Job job;  // as the role sees it
  PoolState* pool = nullptr;
  std::vector<Stage> stages;
  // Of each stage; members are the replicas. Trained models only; of the experts where they are reduced over
  // ranks of their own.
  std::vector<CommunicatorId> gradients;
  std::vector<CommunicatorId> expert_gradients = {};
  std::int64_t layer_collectives = 0;  // of the layers in all passes so far, where ranks share parameters

  int replicas() const { return static_cast<int>(pool->placement.classes_of_stage.size()); }
};

struct RolloutPool {
  Job job;
  PoolState* pool = nullptr;
  StepPrices prices = {};  // of an engine with pages
  std::int64_t kv_blocks = 0;
  Seconds least_prefill_step = {};

  int engines() const { return static_cast<int>(pool->placement.classes_of_engine.size()); }
};

// What is left of a pass: what it still takes, and the share of its work.
struct Rest {
  Seconds left;
  double share = 1;
};

// The samples of one step on their way.
struct Batch {
  int step = 0;
  std::vector<StepSample> samples = {};
  std::vector<int> engine_of = {};     // of each sample, once generated
  std::vector<Seconds> finished = {};  // of each sample
  Seconds generated = {};
  std::int64_t preemptions = 0;
  std::int64_t generated_samples = 0;  // started, also those that are thrown away
  std::int64_t computed_tokens = 0;    // of the actor's update, with padding
  std::int64_t useful_tokens = 0;
  StalenessCounts staleness = {};
  // Indices into samples by replica, for each number of replicas that asked (sample_shards): every phase
  // deals alike.
  std::map<int, std::vector<std::vector<int>>> dealt = {};
  std::map<Phase, Rest> rest = {};  // of forwards that went on beside the generation (sim/experience.cpp)
};

// Work of one pool that the step does not wait for.
struct Background {
  int pool = 0;
  bool done = false;
  Wake ready = {};
};

struct RunState {
  Job const& job;
  RunOptions options;
  EventLog& log;
  Recorder& recorder;
  Engine& engine;
  Collectives& collectives;
  std::vector<std::unique_ptr<PoolState>> pools = {};
  std::vector<std::unique_ptr<Team>> teams = {};
  std::optional<RolloutPool> rollout = {};
  // Of a run that serves adapters which come and go (sim/serving.hpp).
  std::shared_ptr<AdapterPlan const> adapters = {};
  std::shared_ptr<AdapterRoutes const> adapter_routes = {};
  // Groups that the step before has left unfinished (partial rollout).
  std::vector<std::pair<std::int64_t, std::vector<StepSample>>> carried = {};
  bool stopped = false;  // the run ended otherwise than completed
  std::set<Fault const*> happened = {};
  std::vector<AlarmId> fault_alarms = {};
  std::shared_ptr<Background> background =
      {};                           // the critic's update, where the next step does not wait for it
  Seconds checkpoint_written = {};  // when the last write behind the phases ends
  std::set<Role> updated = {};      // roles whose first update is done
  // Tokens on a rank of the largest micro-batch that a role has computed, of jobs that do not pack: packs and
  // token budgets are taken as full.
  std::map<Role, MicroBatchTokens> largest = {};

  Team* find_team(Role role) const {
    for (auto const& t : teams) {
      if (t->role == role) return t.get();
    }
    return nullptr;
  }
  Team& team(Role role) const;  // std::logic_error: there is none
};

// One phase of one step on one pool. Each of the functions below runs inside an actor, from now until the
// last rank is done, and writes the spans.
struct PhaseRun {
  RunState& run;
  PoolState& pool;
  Batch& batch;
  Phase phase = Phase::generate;
  PhaseRecorder recorder;
  bool validates = false;  // generates for validation
};

void generate(PhaseRun& p);
void forward_pass(PhaseRun& p, Team& team);
// How long a forward pass over the batch takes.
Seconds forward_time(Team& team, Batch& batch);
// `share` of its work as one span of each rank.
void record_forward(PhaseRecorder const& recorder, Team& team, Batch& batch, Seconds start, Seconds end,
                    double share);
void update(PhaseRun& p, Team& team);
// How long an update takes, without waits for other replicas and reductions.
Seconds update_time(Team& team, Batch& batch);
void synchronise_weights(PhaseRun& p);
// The copies of each of the pool's rank classes, one after another.
void copy_to_and_from_host(PhaseRun& p, std::vector<std::vector<HostCopy>> const& of_class);

}  // namespace rollcast
