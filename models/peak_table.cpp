#include "models/peak_table.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "models/adapter_memory.hpp"
#include "models/engine_start.hpp"
#include "models/ledger_lines.hpp"

namespace rollcast {
namespace {

std::size_t at(Phase p) { return static_cast<std::size_t>(p); }
std::uint32_t bit(Phase p) { return std::uint32_t{1} << at(p); }
constexpr std::uint32_t kEveryPhase = (std::uint32_t{1} << kPhases) - 1;

bool has(std::uint32_t phases, std::size_t phase) { return (phases >> phase & 1U) != 0; }

std::uint32_t bits(std::vector<Phase> const& phases) {
  std::uint32_t sum = 0;
  for (Phase p : phases) sum |= bit(p);
  return sum;
}

std::uint32_t named_by(std::vector<LedgerLine> const& lines) {
  std::uint32_t named = 0;
  for (LedgerLine const& line : lines) named |= bits(line.phases);
  return named;
}

PhaseBytes totals(RankLedger const& l, bool host) {
  PhaseBytes sums{};
  for (Phase p : all_phases()) sums[at(p)] = total(l, p, host);
  return sums;
}

// host_at_load less the copy of a sleeping engine's weights, which is the engine's.
Bytes load_without_copy(Job view, ProcessMemory const& process) {
  view.rollout.sleep_level = 0;
  return host_at_load(view, process);
}

// What the trainer's lines depend on of an engine.
bool alike(Job const& trainer, EngineOptions const& a, EngineOptions const& b) {
  bool const static_engines = a.kind == EngineKind::hf || b.kind == EngineKind::hf;
  Job with = trainer;
  with.rollout = a;
  bool const sleeps = engine_sleeps(with);
  with.rollout = b;
  return a.max_model_len == b.max_model_len && a.weights == b.weights && sleeps == engine_sleeps(with) &&
         (!static_engines || a.kind == b.kind);
}

}  // namespace

Bytes usable_host_memory(Job const& job) {
  bool const bound = job.framework.numa == NumaBinding::first;
  Bytes const all = job.framework.host_memory_share * job.cluster.node.host_memory;
  return bound ? all / std::max(1, job.cluster.node.numa_nodes) : all;
}

PeakTable::PeakTable(std::vector<Job> const& trainers, std::vector<EngineOptions> const& engines,
                     ProcessMemory const& process)
    : engine_count_(engines.size()) {
  if (trainers.empty() || engines.empty()) throw std::logic_error("a peak table without layouts");
  Job const& base = trainers.front();
  for (EngineOptions const& e : engines) {
    if (has_rollout(base.algorithm) && !alike(base, engines.front(), e))
      throw std::logic_error("engines of a peak table differ in what the trainer's lines depend on");
  }
  int const pools = static_cast<int>(pools_of(base).size());
  for (int pool = 0; pool < pools; ++pool) {
    Job const view = on_pool(base, pool);
    PoolFacts f;
    f.capacity = view.cluster.node.gpu.visible_memory;
    f.host_limit = usable_host_memory(view);
    f.has_engines = engines_here(view);
    f.refit = runs_here(view, Role::actor) ? refit_rule(view, process) : RefitRule{};
    f.refit_kept_for_checkpoint = saves_here(view) && step_phases(view).back() == Phase::weight_sync;
    pools_.push_back(f);
  }
  for (Job trainer : trainers) {
    trainer.rollout = engines.front();
    add_trainer(trainer, process);
  }
  if (!has_rollout(base.algorithm)) {
    EngineRow none;
    none.limits.starts = true;
    engines_.resize(engine_count_, none);
    return;
  }
  engine_of_each_trainer_ = engines.front().kind == EngineKind::hf;
  std::size_t const different = engine_of_each_trainer_ ? trainers.size() : 1;
  for (std::size_t t = 0; t < different; ++t) {
    Job trainer = trainers[t];
    trainer.rollout = engines.front();
    for (EngineOptions const& e : engines) add_engine(trainer, e, process);
  }
}

void PeakTable::add_trainer(Job const& job, ProcessMemory const& process) {
  TrainerRow row;
  row.first = static_cast<std::uint32_t>(ranks_.size());
  row.host = static_cast<std::uint32_t>(host_.size());
  for (int pool = 0; pool < static_cast<int>(pools_.size()); ++pool) {
    Job const view = on_pool(job, pool);
    std::vector<RankLedger> ledgers;
    for (int stage = 0; stage < stages_here(view); ++stage) {
      RankLedger l;
      l.pipeline_stage = stage;
      l.ranks = view.cluster.gpus() / stages_here(view);
      l.lines = trainer_lines(view, stage, process);
      add_allocator_cache(l, view);
      RankRow rank;
      rank.pool = pool;
      if (!gathers_before_wake(view)) {
        add_sync_gather(l, view);
      } else if (contains(step_phases(view), Phase::weight_sync)) {
        rank.gathered = gathered_for_sync(view, l);
      }
      add_checkpoint(l, view, stage);
      rank.gpu = totals(l, false);
      rank.named = named_by(l.lines);
      ranks_.push_back(rank);
      ledgers.push_back(std::move(l));
    }
    HostRow host;
    for (Phase p : all_phases()) host.in_step[at(p)] = host_total(ledgers, view.cluster, p);
    host.at_load = view.cluster.node.gpus * load_without_copy(view, process);
    host_.push_back(host);
    if (pools_[static_cast<std::size_t>(pool)].has_engines) row.held = held_at_engine_start(view, process);
  }
  row.last = static_cast<std::uint32_t>(ranks_.size());
  trainers_.push_back(row);
}

void PeakTable::add_engine(Job const& trainer, EngineOptions const& engine, ProcessMemory const& process) {
  Job view = on_pool(trainer, pool_of(trainer, Role::rollout));
  int const gpus = view.cluster.node.gpus;
  view.rollout = engine;
  EngineRow row;
  row.host_at_load = gpus * (host_at_load(view, process) - load_without_copy(view, process));
  row.limits = engine_limits(view);
  view.framework.engine_first = true;  // on a GPU that holds nothing else
  RankLedger l;
  add_engine_lines(l.lines, view, process);
  keep_for_checkpoint(l.lines, view);
  if (row.limits.paged) {
    auto const kv = std::find_if(l.lines.begin(), l.lines.end(), [](LedgerLine const& line) {
      return line.category == MemoryCategory::kv_pages;
    });
    if (kv != l.lines.end()) {
      row.kv_named = bits(kv->phases);
      row.kv_in = kv->phases.empty() ? kEveryPhase : row.kv_named;
      l.lines.erase(kv);
    }
  }
  if (!row.limits.starts) {
    EngineSite site{view.cluster.node.gpu.visible_memory, Bytes(0), engine_sleeps(view)};
    AdapterSlots const slots = adapter_slots(view);
    KvBudget const alone = without_slots(kv_budget(view.model, engine, site, process), engine, slots);
    // The budget is linear in what others hold.
    site.held = GiB(1);
    KvBudget const beside = without_slots(kv_budget(view.model, engine, site, process), engine, slots);
    row.alone = {alone.free_at_start, alone.asked, alone.left};
    row.free_lost = (alone.free_at_start - beside.free_at_start) / site.held;
    row.asked_lost = (alone.asked - beside.asked) / site.held;
    row.left_lost = (alone.left - beside.left) / site.held;
  }
  row.gpu = totals(l, false);
  row.named = named_by(l.lines);
  for (LedgerLine const& line : l.lines) {
    if (!line.host && contains(line.phases, Phase::weight_sync)) row.named_in_sync += line.bytes;
  }
  row.host = totals(l, true);
  for (Bytes& b : row.host) b *= gpus;
  engines_.push_back(row);
}

PeakTable::KvPart PeakTable::kv_part(EngineRow const& engine, Bytes held) const {
  KvFigures const figures{engine.alone.free_at_start - engine.free_lost * held,
                          engine.alone.asked - engine.asked_lost * held,
                          engine.alone.left - engine.left_lost * held};
  KvPart part;
  part.starts = start_problem(engine.limits, figures) == StartProblem::none;
  if (engine.kv_in == 0) return part;
  std::int64_t const pages = std::max<std::int64_t>(0, kv_pages_of(engine.limits, figures.left));
  part.bytes = static_cast<double>(pages) * engine.limits.page;
  if (pages == 0) return part;
  part.in = engine.kv_in;
  part.named = engine.kv_named;
  return part;
}

MemoryPeak PeakTable::rank_peak(RankRow const& rank, EngineRow const& engine, KvPart const& kv) const {
  constexpr std::size_t sync = static_cast<std::size_t>(Phase::weight_sync);
  constexpr std::size_t checkpoint = static_cast<std::size_t>(Phase::checkpoint);
  PoolFacts const& pool = pools_[static_cast<std::size_t>(rank.pool)];
  PhaseBytes sums = rank.gpu;
  std::uint32_t named = rank.named;
  Bytes in_sync;
  if (pool.has_engines) {
    for (std::size_t p = 0; p < kPhases; ++p) {
      sums[p] += engine.gpu[p];
      if (has(kv.in, p)) sums[p] += kv.bytes;
    }
    named |= engine.named | kv.named;
    in_sync = engine.named_in_sync + (has(kv.named, sync) ? kv.bytes : Bytes(0));
  }
  if (Bytes const gathered = rank.gathered - in_sync; gathered.value > 0) {
    sums[sync] += gathered;
    named |= bit(Phase::weight_sync);
  }
  if (Bytes const refit = refit_buffer(pool.refit, pool.capacity - sums[sync]); refit.value > 0) {
    sums[sync] += refit;
    named |= bit(Phase::weight_sync);
    if (pool.refit_kept_for_checkpoint) {
      sums[checkpoint] += refit;
      named |= bit(Phase::checkpoint);
    }
  }
  if (named == 0) named = bit(Phase::update_actor);
  MemoryPeak top{Phase::wake, Bytes(-1)};
  for (std::size_t p = 0; p < kPhases; ++p) {
    if (has(named, p) && sums[p] > top.bytes) top = {static_cast<Phase>(p), sums[p]};
  }
  return top;
}

Bytes PeakTable::host_headroom(TrainerRow const& trainer, EngineRow const& engine) const {
  Bytes least(std::numeric_limits<double>::infinity());
  for (std::size_t p = 0; p < pools_.size(); ++p) {
    PoolFacts const& pool = pools_[p];
    HostRow const& host = host_[trainer.host + p];
    double const with = pool.has_engines ? 1 : 0;
    Bytes most = host.at_load + with * engine.host_at_load;
    for (std::size_t i = 0; i < kPhases; ++i) most = max(most, host.in_step[i] + with * engine.host[i]);
    least = min(least, pool.host_limit - most);
  }
  return least;
}

LayoutPeak PeakTable::peak(TableLayout layout) const {
  TrainerRow const& trainer = trainers_[layout.trainer];
  EngineRow const& engine = engine_of(layout);
  KvPart const kv = kv_part(engine, trainer.held);
  LayoutPeak result;
  result.engine_starts = kv.starts;
  result.host_headroom = host_headroom(trainer, engine);
  result.headroom = Bytes(std::numeric_limits<double>::infinity());
  for (std::uint32_t r = trainer.first; r < trainer.last; ++r) {
    RankRow const& rank = ranks_[r];
    MemoryPeak const top = rank_peak(rank, engine, kv);
    Bytes const headroom = pools_[static_cast<std::size_t>(rank.pool)].capacity - top.bytes;
    if (!(headroom < result.headroom)) continue;
    result.bytes = top.bytes;
    result.headroom = headroom;
    result.phase = top.phase;
    result.pool = rank.pool;
  }
  return result;
}

}  // namespace rollcast
