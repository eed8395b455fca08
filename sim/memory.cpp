#include "sim/memory.hpp"

#include <algorithm>
#include <map>

namespace rollcast {
namespace {

bool present(LedgerLine const& line, Phase phase) {
  return line.phases.empty() || std::find(line.phases.begin(), line.phases.end(), phase) != line.phases.end();
}

}  // namespace

void record_memory(RunState& run, Phase phase) {
  Seconds const now = run.engine.now();
  std::vector<std::map<std::pair<Role, MemoryCategory>, double>> of_ledger(run.log.ledgers.size());
  for (std::size_t l = 0; l < of_ledger.size(); ++l) {
    for (LedgerLine const& line : run.log.ledgers[l].lines) {
      if (line.host) continue;
      of_ledger[l][{line.role, line.category}] += present(line, phase) ? line.bytes.value : 0;
    }
  }
  for (int c = 0; c < run.classes(); ++c) {
    auto const ledger = run.log.ledger_of_class[static_cast<std::size_t>(c)];
    for (auto const& [key, value] : of_ledger[static_cast<std::size_t>(ledger)]) {
      run.recorder.counter({.rank_class = c,
                            .kind = CounterKind::memory,
                            .role = key.first,
                            .category = key.second,
                            .time = now,
                            .value = value});
    }
  }
}

namespace {

OomRecord oom_at(RunState const& run, Phase phase, int rank_class, Bytes need, Bytes capacity,
                 LedgerLine const* largest) {
  OomRecord oom;
  oom.time = run.engine.now();
  oom.rank = run.placement.classes[static_cast<std::size_t>(rank_class)].ranks.front();
  oom.step = run.step;
  oom.phase = phase;
  if (largest != nullptr) {
    oom.allocation = std::string(name_of(largest->role)) + " " + std::string(name_of(largest->category));
    oom.requested = largest->bytes;
  }
  oom.allocated = need - oom.requested;
  oom.free = max(capacity - oom.allocated, Bytes(0));
  return oom;
}

// The largest line of a phase; of the GPU lines one that comes and goes.
LedgerLine const* largest_line(RankLedger const& ledger, Phase phase, bool host) {
  LedgerLine const* largest = nullptr;
  for (LedgerLine const& line : ledger.lines) {
    if (line.host != host || (!host && line.phases.empty()) || !present(line, phase)) continue;
    if (largest == nullptr || largest->bytes < line.bytes) largest = &line;
  }
  return largest;
}

std::optional<OomRecord> host_out_of_memory(RunState const& run, Phase phase) {
  ClusterSpec const& cluster = run.job.cluster;
  Bytes const need = host_total(run.log.ledgers, cluster, phase);
  if (need <= cluster.node.host_memory) return std::nullopt;
  LedgerLine const* largest = nullptr;
  int of_class = 0;
  for (int c = 0; c < run.classes(); ++c) {
    LedgerLine const* const line = largest_line(run.ledger_of(c), phase, true);
    if (line == nullptr || (largest != nullptr && line->bytes <= largest->bytes)) continue;
    largest = line;
    of_class = c;
  }
  OomRecord oom = oom_at(run, phase, of_class, need, cluster.node.host_memory, largest);
  oom.kind = "host";
  return oom;
}

}  // namespace

std::optional<OomRecord> out_of_memory(RunState const& run, Phase phase) {
  for (int c = 0; c < run.classes(); ++c) {
    RankLedger const& ledger = run.ledger_of(c);
    Bytes const need = total(ledger, phase);
    if (need > ledger.capacity)
      return oom_at(run, phase, c, need, ledger.capacity, largest_line(ledger, phase, false));
  }
  return host_out_of_memory(run, phase);
}

}  // namespace rollcast
