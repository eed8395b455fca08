#include "models/ledger.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include "models/ledger_lines.hpp"

namespace rollcast {
namespace {

constexpr std::array<Phase, 12> every_phase = {Phase::wake,         Phase::generate,    Phase::sleep,
                                               Phase::score,        Phase::old_logprob, Phase::reference,
                                               Phase::values,       Phase::advantage,   Phase::update_critic,
                                               Phase::update_actor, Phase::weight_sync, Phase::checkpoint};

bool same(LedgerLine const& a, LedgerLine const& b) {
  bool const same_bytes = !(a.bytes < b.bytes) && !(b.bytes < a.bytes);
  return same_bytes && a.role == b.role && a.category == b.category && a.host == b.host &&
         a.phases == b.phases && a.formula == b.formula && a.name == b.name;
}

bool same(std::vector<LedgerLine> const& a, std::vector<LedgerLine> const& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](LedgerLine const& x, LedgerLine const& y) { return same(x, y); });
}

MicroBatchTokens largest_micro_batches(Job const& of_role, Role role,
                                       std::map<Role, MicroBatchTokens> const& dealt) {
  MicroBatchTokens tokens = allowed_micro_batches(of_role);
  auto const known = dealt.find(role);
  if (known == dealt.end()) return tokens;
  if (known->second.forward > 0) tokens.forward = known->second.forward;
  if (known->second.update > 0) tokens.update = known->second.update;
  return tokens;
}

RankLedger stage_ledger(Job const& job, int stage, ProcessMemory const& process,
                        std::map<Role, MicroBatchTokens> const& dealt) {
  RankLedger l;
  l.pipeline_stage = stage;
  l.ranks = job.cluster.gpus() / stages_here(job);
  l.capacity = job.cluster.node.gpu.visible_memory;
  l.lines = trainer_lines(job, stage, process, dealt);
  add_allocator_cache(l, job);
  if (engines_here(job)) add_engine_lines(l.lines, job, process);
  add_sync_gather(l, job);
  add_refit_buffer(l, job, process);
  add_checkpoint(l, job, stage);
  return l;
}

std::string class_name(int first, int count, int pp) {
  if (pp == 1) return "rank";
  if (count == 1) return fmt::format("stage {}", first);
  return fmt::format("stages {}-{}", first, first + count - 1);
}

}  // namespace

std::string_view name_of(MemoryCategory c) {
  switch (c) {
    case MemoryCategory::weights:
      return "weights";
    case MemoryCategory::gradients:
      return "gradients";
    case MemoryCategory::master_weights:
      return "master_weights";
    case MemoryCategory::optimizer_states:
      return "optimizer_states";
    case MemoryCategory::activations:
      return "activations";
    case MemoryCategory::logits:
      return "logits";
    case MemoryCategory::gather_buffers:
      return "gather_buffers";
    case MemoryCategory::kv_pages:
      return "kv_pages";
    case MemoryCategory::cuda_graphs:
      return "cuda_graphs";
    case MemoryCategory::nccl_buffers:
      return "nccl_buffers";
    case MemoryCategory::cuda_context:
      return "cuda_context";
    case MemoryCategory::engine_residue:
      return "engine_residue";
    case MemoryCategory::allocator_cache:
      return "allocator_cache";
  }
  throw std::logic_error("no such MemoryCategory");
}

std::vector<LedgerLine> trainer_lines(Job const& job, int stage, ProcessMemory const& process,
                                      std::map<Role, MicroBatchTokens> const& dealt) {
  std::vector<LedgerLine> lines;
  for (ModelRole const& r : model_roles(job.algorithm)) {
    if (!runs_here(job, r.role)) continue;
    Job of_role = job;
    of_role.train = trainer_of(job, r.role);
    MicroBatchTokens const tokens = largest_micro_batches(of_role, r.role, dealt);
    add_state_lines(lines, of_role, r, stage, tokens);
    add_compute_lines(lines, of_role, r, stage, tokens);
  }
  if (holds_models(job)) add_process_lines(lines, job, process);
  return lines;
}

void add_line(std::vector<LedgerLine>& lines, LineText const& text, Bytes amount,
              std::vector<Phase> const& phases) {
  if (!(amount.value > 0)) return;
  LedgerLine line;
  line.role = text.role;
  line.category = text.category;
  line.bytes = amount;
  line.phases = phases;
  line.formula = text.formula;
  line.name = text.name;
  lines.push_back(line);
}

void add_line(std::vector<LedgerLine>& lines, Job const& job, LineText const& text, Bytes amount,
              Residency const& where) {
  std::vector<Phase> const all = step_phases(job);
  auto const add = [&](std::vector<Phase> const& phases, bool host) {
    if (phases.empty()) return;
    std::size_t const before = lines.size();
    add_line(lines, text, amount, phases == all ? std::vector<Phase>{} : phases);
    if (lines.size() > before) lines.back().host = host;
  };
  add(where.gpu, false);
  add(where.host, true);
}

int stages_here(Job const& job) { return holds_models(job) ? job.train.parallel.pp : 1; }

bool engines_here(Job const& job) { return has_rollout(job.algorithm) && runs_here(job, Role::rollout); }

std::string grouped(double n) {
  std::string digits = fmt::format("{:.0f}", n);
  std::size_t const sign = digits.front() == '-' ? 1 : 0;
  for (std::size_t i = digits.size(); i > sign + 3;) {
    i -= 3;
    digits.insert(i, ",");
  }
  return digits;
}

std::vector<RankLedger> memory_ledger(Job const& job, ProcessMemory const& process,
                                      std::map<Role, MicroBatchTokens> const& dealt) {
  std::vector<RankLedger> ledgers;
  std::vector<int> stages;
  for (int stage = 0; stage < stages_here(job); ++stage) {
    RankLedger l = stage_ledger(job, stage, process, dealt);
    if (!ledgers.empty() && same(ledgers.back().lines, l.lines)) {
      ledgers.back().ranks += l.ranks;
      ++stages.back();
    } else {
      ledgers.push_back(std::move(l));
      stages.push_back(1);
    }
  }
  for (std::size_t i = 0; i < ledgers.size(); ++i) {
    ledgers[i].name = class_name(ledgers[i].pipeline_stage, stages[i], stages_here(job));
  }
  return ledgers;
}

std::size_t ledger_of_stage(std::vector<RankLedger> const& ledgers, int stage) {
  std::size_t found = 0;
  for (std::size_t l = 0; l < ledgers.size(); ++l) {
    if (ledgers[l].pipeline_stage <= stage) found = l;
  }
  return found;
}

bool is_present(LedgerLine const& line, Phase phase) {
  return line.phases.empty() || contains(line.phases, phase);
}

Bytes total(RankLedger const& l, Phase phase, bool host) {
  Bytes sum;
  for (LedgerLine const& line : l.lines) {
    if (line.host == host && is_present(line, phase)) sum += line.bytes;
  }
  return sum;
}

Bytes category_total(RankLedger const& l, Phase phase, MemoryCategory c) {
  Bytes sum;
  for (LedgerLine const& line : l.lines) {
    if (!line.host && line.category == c && is_present(line, phase)) sum += line.bytes;
  }
  return sum;
}

std::vector<Phase> named_phases(RankLedger const& l) {
  std::vector<Phase> named;
  for (Phase p : every_phase) {
    bool const used = std::any_of(l.lines.begin(), l.lines.end(),
                                  [p](LedgerLine const& line) { return contains(line.phases, p); });
    if (used) named.push_back(p);
  }
  if (named.empty()) named.push_back(Phase::update_actor);
  return named;
}

MemoryPeak peak(RankLedger const& l, bool host) {
  std::vector<Phase> const phases = named_phases(l);
  MemoryPeak best{phases.front(), total(l, phases.front(), host)};
  for (Phase p : phases) {
    Bytes const sum = total(l, p, host);
    if (sum > best.bytes) best = {p, sum};
  }
  return best;
}

Bytes host_total(std::vector<RankLedger> const& ledgers, ClusterSpec const& c, Phase phase) {
  // Ranks are numbered class by class, a node takes node.gpus of them in turn. Nodes within one class are
  // alike, so the walk goes from class to class.
  Bytes fullest;
  Bytes shared;  // held so far by a node that earlier classes began
  int room = c.node.gpus;
  for (RankLedger const& l : ledgers) {
    Bytes const each = total(l, phase, true);
    int const first = std::min(room, l.ranks);
    shared += first * each;
    fullest = max(fullest, shared);
    room -= first;
    int const rest = l.ranks - first;
    if (room > 0) continue;
    if (rest >= c.node.gpus) fullest = max(fullest, c.node.gpus * each);
    int const last = rest % c.node.gpus;
    shared = last * each;
    room = c.node.gpus - last;
  }
  return max(fullest, shared);
}

MemoryPeak host_peak(std::vector<RankLedger> const& ledgers, ClusterSpec const& c) {
  std::vector<Phase> const phases = named_phases(ledgers.front());
  MemoryPeak best{phases.front(), host_total(ledgers, c, phases.front())};
  for (Phase p : phases) {
    Bytes const sum = host_total(ledgers, c, p);
    if (sum > best.bytes) best = {p, sum};
  }
  return best;
}

}  // namespace rollcast
