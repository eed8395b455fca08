#include "sim/memory.hpp"

#include <algorithm>
#include <map>

namespace rollcast {
namespace {

bool present(LedgerLine const& line, Phase phase) {
  return line.phases.empty() || std::find(line.phases.begin(), line.phases.end(), phase) != line.phases.end();
}

}  // namespace

void record_memory(PhaseRun const& p) {
  Seconds const now = p.run.engine.now();
  std::vector<std::map<std::pair<Role, MemoryCategory>, double>> of_ledger(p.pool.ledgers.size());
  for (std::size_t l = 0; l < of_ledger.size(); ++l) {
    for (LedgerLine const& line : p.pool.ledgers[l].lines) {
      if (line.host) continue;
      of_ledger[l][{line.role, line.category}] += present(line, p.phase) ? line.bytes.value : 0;
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

OomRecord oom_at(PhaseRun const& p, int rank_class, Bytes need, Bytes capacity, LedgerLine const* largest) {
  OomRecord oom;
  oom.time = p.run.engine.now();
  oom.rank = p.pool.placement.classes[static_cast<std::size_t>(rank_class)].ranks.front();
  oom.pool = p.pool.index;
  oom.step = p.batch.step;
  oom.phase = p.phase;
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

std::optional<OomRecord> host_out_of_memory(PhaseRun const& p) {
  ClusterSpec const& cluster = p.pool.job.cluster;
  Bytes const need = host_total(p.pool.ledgers, cluster, p.phase);
  if (need <= cluster.node.host_memory) return std::nullopt;
  LedgerLine const* largest = nullptr;
  int of_class = 0;
  for (int c = 0; c < p.pool.classes(); ++c) {
    LedgerLine const* const line = largest_line(p.pool.ledger_of(p.pool.first_class() + c), p.phase, true);
    if (line == nullptr || (largest != nullptr && line->bytes <= largest->bytes)) continue;
    largest = line;
    of_class = c;
  }
  OomRecord oom = oom_at(p, of_class, need, cluster.node.host_memory, largest);
  oom.kind = OomKind::host;
  return oom;
}

}  // namespace

std::optional<OomRecord> out_of_memory(PhaseRun const& p) {
  for (int c = 0; c < p.pool.classes(); ++c) {
    RankLedger const& ledger = p.pool.ledger_of(p.pool.first_class() + c);
    Bytes const need = total(ledger, p.phase);
    if (need > ledger.capacity)
      return oom_at(p, c, need, ledger.capacity, largest_line(ledger, p.phase, false));
  }
  return host_out_of_memory(p);
}

}  // namespace rollcast
