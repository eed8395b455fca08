#include "sim/memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "models/engine_start.hpp"
#include "models/residency.hpp"
#include "sim/micro_batches.hpp"

namespace rollcast {
namespace {

// Whether the line exists by now: a first update of its role is done or under way.
bool made(PhaseRun const& p, LedgerLine const& line) {
  if (!line.from_first_update) return true;
  std::set<Role> const& done = p.run.updated;
  if (line.role == Role::process) return !done.empty();
  bool const updates = p.phase == (line.role == Role::critic ? Phase::update_critic : Phase::update_actor);
  return updates || done.contains(line.role);
}

// The pool's ledgers as they are by now.
std::vector<RankLedger> ledgers_now(PhaseRun const& p) {
  std::vector<RankLedger> ledgers = p.pool.ledgers;
  for (RankLedger& l : ledgers)
    std::erase_if(l.lines, [&](LedgerLine const& line) { return !made(p, line); });
  return ledgers;
}

std::size_t ledger_index(PoolState const& pool, int of_class) {
  return static_cast<std::size_t>(pool.ledger_of_class[static_cast<std::size_t>(of_class)]);
}

}  // namespace

void take_ledgers(RunState& run, PoolState& pool) {
  pool.ledgers = memory_ledger(pool.job, process_memory(), run.largest);
  pool.ledger_of_class.clear();
  for (ClassPlace const& place : pool.placement.places)
    pool.ledger_of_class.push_back(static_cast<int>(ledger_of_stage(pool.ledgers, place.stage)));
  run.log.ledgers.clear();
  run.log.ledger_of_class.clear();
  for (auto const& each : run.pools) {
    int const first = static_cast<int>(run.log.ledgers.size());
    for (int l : each->ledger_of_class) run.log.ledger_of_class.push_back(first + l);
    run.log.ledgers.insert(run.log.ledgers.end(), each->ledgers.begin(), each->ledgers.end());
  }
}

void note_micro_batches(PhaseRun const& p, Team const& team) {
  TrainerOptions const& t = team.job.train;
  if (!p.run.options.memory_as_dealt || t.packing || t.dynamic_batching) return;
  double tokens = 0;
  for (auto const& step : micro_batches_of(team, p.batch, p.phase)) {
    for (auto const& of_replica : step) {
      for (double each : of_replica) tokens = std::max(tokens, each);
    }
  }
  Role const role = p.phase == Phase::reference ? Role::reference : team.role;
  MicroBatchTokens& so_far = p.run.largest[role];
  double& most = trains(p.phase) ? so_far.update : so_far.forward;
  if (tokens <= most) return;
  most = tokens;
  take_ledgers(p.run, p.pool);
}

void record_memory(PhaseRun const& p) {
  Seconds const now = p.run.engine.now();
  std::vector<std::map<std::pair<Role, MemoryCategory>, double>> of_ledger(p.pool.ledgers.size());
  for (std::size_t l = 0; l < of_ledger.size(); ++l) {
    for (LedgerLine const& line : p.pool.ledgers[l].lines) {
      if (line.host || !made(p, line)) continue;
      of_ledger[l][{line.role, line.category}] += is_present(line, p.phase) ? line.bytes.value : 0;
    }
  }
  for (int c = 0; c < p.pool.classes(); ++c) {
    auto const ledger = p.pool.ledger_of_class[static_cast<std::size_t>(c)];
    for (auto const& [key, value] : of_ledger[static_cast<std::size_t>(ledger)]) {
      p.recorder.counter({.rank_class = p.pool.first_class() + c,
                          .kind = CounterKind::memory,
                          .role = key.first,
                          .category = key.second,
                          .time = now,
                          .value = value});
    }
  }
}

namespace {

LedgerLine const* largest_host_line(RankLedger const& ledger, Phase phase) {
  LedgerLine const* largest = nullptr;
  for (LedgerLine const& line : ledger.lines) {
    if (!line.host || !is_present(line, phase)) continue;
    if (largest == nullptr || largest->bytes < line.bytes) largest = &line;
  }
  return largest;
}

// Processes that are bound to one NUMA node have its memory alone.
int numa_share(Job const& job) {
  return job.framework.numa == NumaBinding::first ? std::max(1, job.cluster.node.numa_nodes) : 1;
}

Bytes host_limit(Job const& job) { return job.framework.host_memory_share * job.cluster.node.host_memory; }

std::optional<OomRecord> host_out_of_memory(PhaseRun const& p, std::vector<RankLedger> const& ledgers) {
  ClusterSpec const& cluster = p.pool.job.cluster;
  Bytes const need = host_total(ledgers, cluster, p.phase);
  bool const bound = p.pool.job.framework.numa == NumaBinding::first;
  Bytes const limit = host_limit(p.pool.job) / numa_share(p.pool.job);
  if (need <= limit) return std::nullopt;
  LedgerLine const* largest = nullptr;
  int of_class = 0;
  for (int c = 0; c < p.pool.classes(); ++c) {
    LedgerLine const* const line = largest_host_line(ledgers[ledger_index(p.pool, c)], p.phase);
    if (line == nullptr || (largest != nullptr && line->bytes <= largest->bytes)) continue;
    largest = line;
    of_class = c;
  }
  OomRecord oom;
  oom.kind = OomKind::host;
  oom.time = p.run.engine.now();
  oom.rank = p.pool.placement.classes[static_cast<std::size_t>(of_class)].ranks.front();
  oom.pool = p.pool.index;
  oom.step = p.batch.step;
  oom.phase = p.phase;
  if (largest != nullptr) {
    oom.allocation =
        fmt::format("{} {}: {}", name_of(largest->role), name_of(largest->category), largest->name);
    oom.requested = largest->bytes;
  }
  oom.allocated = min(need - oom.requested, limit);
  oom.free = max(limit - oom.allocated, Bytes(0));
  if (bound) oom.numa = 0;
  return oom;
}

}  // namespace

std::optional<OomRecord> out_of_memory_at_load(RunState const& run) {
  for (auto const& pool : run.pools) {
    Bytes const need = pool->job.cluster.node.gpus * host_at_load(pool->job);
    Bytes const limit = host_limit(pool->job) / numa_share(pool->job);
    if (need <= limit) continue;
    OomRecord oom;
    oom.kind = OomKind::host;
    oom.pool = pool->index;
    oom.rank = pool->placement.classes.front().ranks.front();
    oom.phase = step_phases(run.job).front();
    oom.allocation = "weights while the models are loaded";
    oom.requested = need;
    oom.free = limit;
    return oom;
  }
  return std::nullopt;
}

std::optional<OomRecord> out_of_memory(PhaseRun const& p) { return host_out_of_memory(p, ledgers_now(p)); }

}  // namespace rollcast
