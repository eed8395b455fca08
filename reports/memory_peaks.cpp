#include "reports/memory_peaks.hpp"

#include <algorithm>

namespace rollcast {
namespace {

// Phases that the pool went through, in order of first start; all phases if it went through none.
std::vector<Phase> phases_of(EventLog const& log, int pool) {
  std::vector<PhaseWindow> windows;
  for (PhaseWindow const& w : log.phases) {
    if (w.pool == pool) windows.push_back(w);
  }
  std::stable_sort(windows.begin(), windows.end(),
                   [](PhaseWindow const& a, PhaseWindow const& b) { return a.start < b.start; });
  std::vector<Phase> out;
  for (PhaseWindow const& w : windows) {
    if (std::find(out.begin(), out.end(), w.phase) == out.end()) out.push_back(w.phase);
  }
  if (out.empty()) {
    for (int p = 0; p <= static_cast<int>(Phase::checkpoint); ++p) out.push_back(static_cast<Phase>(p));
  }
  return out;
}

// What the trainer's process holds through PyTorch.
Bytes trainer_tensors(RankLedger const& ledger, Phase phase) {
  Bytes sum;
  for (LedgerLine const& l : ledger.lines) {
    if (!l.host && l.role != Role::rollout && l.role != Role::process && is_present(l, phase)) sum += l.bytes;
  }
  return sum;
}

std::vector<MemoryShare> shares_of(RankLedger const& ledger, Phase phase) {
  std::vector<MemoryShare> out;
  for (LedgerLine const& l : ledger.lines) {
    if (l.host || !is_present(l, phase)) continue;
    auto same = std::find_if(out.begin(), out.end(), [&](MemoryShare const& s) {
      return s.role == l.role && s.category == l.category;
    });
    if (same == out.end()) same = out.insert(out.end(), {l.role, l.category, Bytes(0)});
    same->bytes += l.bytes;
  }
  std::stable_sort(out.begin(), out.end(),
                   [](MemoryShare const& a, MemoryShare const& b) { return b.bytes < a.bytes; });
  return out;
}

}  // namespace

LedgerPeak peak_of(RankLedger const& ledger, std::vector<Phase> const& phases) {
  LedgerPeak p;
  p.name = ledger.name;
  p.capacity = ledger.capacity;
  p.phase = phases.front();
  for (Phase phase : phases) {
    Bytes const bytes = total(ledger, phase);
    if (p.bytes < bytes) {
      p.bytes = bytes;
      p.phase = phase;
    }
    p.host_bytes = max(p.host_bytes, total(ledger, phase, true));
    p.trainer_tensors = max(p.trainer_tensors, trainer_tensors(ledger, phase));
  }
  p.shares = shares_of(ledger, p.phase);
  return p;
}

std::vector<LedgerPeak> memory_peaks(EventLog const& log) {
  std::vector<LedgerPeak> out;
  std::vector<int> ledger_of_entry;
  for (std::size_t c = 0; c < log.ledger_of_class.size(); ++c) {
    RankClassInfo const& info = log.rank_classes[c];
    int const ledger = log.ledger_of_class[c];
    std::size_t entry = 0;
    while (entry < out.size() && (ledger_of_entry[entry] != ledger || out[entry].pool != info.pool)) ++entry;
    if (entry == out.size()) {
      out.push_back(peak_of(log.ledgers[static_cast<std::size_t>(ledger)], phases_of(log, info.pool)));
      out.back().pool = info.pool;
      ledger_of_entry.push_back(ledger);
    }
    out[entry].ranks += static_cast<int>(info.ranks.size());
  }
  for (Counter const& c : log.counters) {
    auto const rank_class = static_cast<std::size_t>(c.rank_class);
    if (rank_class >= log.ledger_of_class.size()) continue;
    for (std::size_t entry = 0; entry < out.size(); ++entry) {
      if (ledger_of_entry[entry] != log.ledger_of_class[rank_class] ||
          out[entry].pool != log.rank_classes[rank_class].pool)
        continue;
      if (c.kind == CounterKind::torch_allocated)
        out[entry].torch_allocated = max(out[entry].torch_allocated, Bytes(c.value));
      if (c.kind == CounterKind::torch_reserved)
        out[entry].torch_reserved = max(out[entry].torch_reserved, Bytes(c.value));
    }
  }
  return out;
}

}  // namespace rollcast
