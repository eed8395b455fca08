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

std::optional<OomRecord> out_of_memory(RunState const& run, Phase phase) {
  for (int c = 0; c < run.classes(); ++c) {
    RankLedger const& ledger = run.ledger_of(c);
    Bytes const need = total(ledger, phase);
    if (need <= ledger.capacity) continue;
    LedgerLine const* largest = nullptr;
    for (LedgerLine const& line : ledger.lines) {
      if (line.host || line.phases.empty() || !present(line, phase)) continue;
      if (largest == nullptr || largest->bytes < line.bytes) largest = &line;
    }
    OomRecord oom;
    oom.time = run.engine.now();
    oom.rank = run.placement.classes[static_cast<std::size_t>(c)].ranks.front();
    oom.step = run.step;
    oom.phase = phase;
    if (largest != nullptr) {
      oom.allocation = std::string(name_of(largest->role)) + " " + std::string(name_of(largest->category));
      oom.requested = largest->bytes;
    }
    oom.allocated = need - oom.requested;
    oom.free = max(ledger.capacity - oom.allocated, Bytes(0));
    return oom;
  }
  return std::nullopt;
}

}  // namespace rollcast
