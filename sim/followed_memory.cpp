#include "sim/followed_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/engine_memory.hpp"
#include "models/residency.hpp"
#include "models/sync_gather.hpp"
#include "sim/faults.hpp"
#include "sim/micro_batches.hpp"

namespace rollcast {
namespace {

constexpr double kNearCapacity = 0.6;
constexpr int kMatricesOfALayer = 8;  // about: q, k, v, o, gate, up, down and the small ones

// The micro-batches of a replica, in tokens of one rank, by optimizer step (a forward pass has one).
struct Work {
  std::size_t replica = 0;
  std::vector<std::vector<double>> tokens;
};

// Of the replica with the largest micro-batch.
Work largest_work(Team const& team, Batch& batch, Phase phase) {
  auto all = micro_batches_of(team, batch, phase);
  double most = -1;
  Work w;
  for (auto const& step : all) {
    for (std::size_t r = 0; r < step.size(); ++r) {
      for (double tokens : step[r]) {
        if (tokens <= most) continue;
        most = tokens;
        w.replica = r;
      }
    }
  }
  for (auto& step : all) w.tokens.push_back(std::move(step[w.replica]));
  return w;
}

// The largest micro-batch as large as the job allows: a run of a few steps says nothing of the longest
// sequence that a whole one meets.
void allow_largest(Job const& of_team, Phase phase, Work& w) {
  MicroBatchTokens const allowed = allowed_micro_batches(of_team);
  double const most = trains(phase) ? allowed.update : allowed.forward;
  double* largest = nullptr;
  for (auto& step : w.tokens) {
    for (double& tokens : step) {
      if (largest == nullptr || tokens > *largest) largest = &tokens;
    }
  }
  if (largest != nullptr) *largest = std::max(*largest, most);
}

RankLedger const& ledger_of(PoolState const& pool, int stage) {
  return pool.ledgers[ledger_of_stage(pool.ledgers, stage)];
}

ModelRole role_of(PhaseRun const& p, Team const& team) {
  Role const role = p.phase == Phase::reference ? Role::reference : team.role;
  for (ModelRole const& r : model_roles(p.run.job.algorithm)) {
    if (r.role == role) return r;
  }
  return {role, false, false};
}

std::optional<PhaseProgram> program_of(PhaseRun const& p, Team const* team, Work const& work,
                                       RankLedger const& l, FollowedRank& followed) {
  Job const& job = p.pool.job;
  if (p.phase == Phase::weight_sync && holds_models(job)) {
    Bytes const gathered = gathered_for_sync(job, l);
    if (gathered.value > 0 && job.framework.sync_gather != SyncGather::shards)
      return gather_program(gathered, job.model.layers);
  }
  if (team == nullptr) return std::nullopt;
  ModelRole const r = role_of(p, *team);
  if (!trains(p.phase)) return forward_program(team->job, r, followed.stage, work.tokens.front());
  std::int64_t const first_stream = followed.next_stream;
  followed.next_stream += static_cast<std::int64_t>(work.tokens.size());
  return update_program(team->job, r, followed.stage, work.tokens, first_stream);
}

struct Step {
  std::optional<MemoryFailure> failure;
  bool computing = false;
};

Step take_through(PhaseRun const& p, Team const* team, Work const& work, FollowedRank& followed) {
  Job const& job = p.pool.job;
  RankLedger const& l = ledger_of(p.pool, followed.stage);
  bool const own = job.rollout.kind == EngineKind::hf && colocated(job);
  RankMemory& m = followed.memory;
  auto const program = program_of(p, team, work, l, followed);
  bool const gathers = p.phase == Phase::weight_sync && program;
  Role const role = team != nullptr ? team->role : Role::actor;
  // What leaves with the weight sync is still there when the engine wakes without one.
  if (!p.validates || !job.framework.offload_with_sync) m.leave(l, p.phase, own);
  auto const others = [&] { return m.let_others(l, p.phase, own, job.framework.empty_cache); };
  auto const hold = [&] { return m.hold(l, p.phase, p.run.updated, own); };
  if (gathers && job.framework.gather_before_wake) {
    if (auto f = hold()) return {f};
    if (auto f = m.run(*program, l, p.phase, role)) return {f, true};
    return {others()};
  }
  // The trainer's weights are there for the sync before the engine's wake; elsewhere the engine goes first.
  if (p.phase == Phase::weight_sync && m.engine_grows(l, p.phase, own)) {
    if (auto f = hold()) return {f};
  }
  if (auto f = others()) return {f};
  if (auto f = hold()) return {f};
  if (!program) return {};
  return {m.run(*program, l, p.phase, role), true};
}

// How long the phase will take, without the waits for others.
Seconds length_of(PhaseRun const& p, Team* team) {
  if (team == nullptr) return Seconds(0);
  return trains(p.phase) ? update_time(*team, p.batch) : forward_time(*team, p.batch);
}

// Of an engine on GPUs of its own, which is the process that fails: `f.figures` have it as another one.
OutOfMemory of_engine_alone(PhaseRun const& p, RankLedger const& l, MemoryFailure const& f) {
  OutOfMemory o = f.figures;
  Bytes outside;
  for (LedgerLine const& line : l.lines) {
    using enum MemoryCategory;
    bool const torch = line.category == weights || line.category == kv_pages ||
                       line.category == activations || line.category == logits;
    if (!line.host && !torch && is_present(line, p.phase)) outside += line.bytes;
  }
  o.requested = static_cast<std::int64_t>(std::llround(f.requested.value));
  o.block = block_size(std::max<std::int64_t>(1, o.requested), AllocatorConfig{});
  o.tried = segment_size(o.block, AllocatorConfig{});
  o.process = o.total - o.free;
  o.other_processes.clear();
  o.non_torch = std::min(o.process, static_cast<std::int64_t>(std::llround(outside.value)));
  o.allocated = o.process - o.non_torch;
  o.reserved_unallocated = 0;
  return o;
}

OomRecord record_of(PhaseRun const& p, Team* team, Work const& work, FollowedRank const& followed,
                    Step const& step) {
  MemoryFailure const& f = *step.failure;
  OomRecord oom;
  oom.kind = f.kind;
  // Only what an engine that sleeps maps by itself is no message of PyTorch, its own or the trainer's.
  bool const mapped = f.line.second == MemoryCategory::weights || f.line.second == MemoryCategory::kv_pages;
  if (f.kind == OomKind::driver && f.line.first == Role::rollout && !(mapped && engine_sleeps(p.pool.job)))
    oom.kind = OomKind::torch;
  oom.time = p.run.engine.now();
  if (step.computing && team != nullptr) oom.time += f.done * length_of(p, team);
  auto const& stages = p.pool.placement.classes_of_stage;
  std::size_t of_class = 0;
  if (!stages.empty()) {
    std::size_t const replica = team != nullptr && step.computing ? work.replica : 0;
    of_class = static_cast<std::size_t>(stages[replica][static_cast<std::size_t>(followed.stage)].front() -
                                        p.pool.first_class());
  }
  oom.rank = p.pool.placement.classes[of_class].ranks.front();
  oom.pool = p.pool.index;
  oom.step = p.batch.step;
  oom.phase = p.phase;
  oom.micro_batch = f.micro_batch;
  oom.allocation = f.allocation;
  oom.requested = f.requested;
  oom.free = f.free;
  oom.allocated = bytes(static_cast<double>(f.figures.allocated));
  oom.figures = f.figures;
  if (!holds_models(p.pool.job)) {
    oom.figures = of_engine_alone(p, ledger_of(p.pool, followed.stage), f);
    oom.allocated = bytes(static_cast<double>(oom.figures->allocated));
  }
  return oom;
}

}  // namespace

void follow_memory(PoolState& pool, RunOptions const& options) {
  AllocatorConfig const& config = pool.job.train.allocator;
  bool const always = pool.job.train.fresh_streams || config.per_process_memory_fraction < 1;
  bool const near = std::any_of(pool.ledgers.begin(), pool.ledgers.end(), [](RankLedger const& l) {
    return peak(l).bytes >= kNearCapacity * l.capacity;
  });
  bool const leaks = leaking_rank(pool).has_value();
  if (!near && !always && !leaks && !options.record_allocations) return;
  TrainerOptions const& t = pool.job.train;
  bool const flat = t.kind == TrainerKind::megatron || t.kind == TrainerKind::deepspeed;
  int const stages = holds_models(pool.job) ? t.parallel.pp : 1;
  for (int stage = 0; stage < stages; ++stage) {
    RankLedger const& l = ledger_of(pool, stage);
    if (stage > 0 && &l == &ledger_of(pool, stage - 1)) continue;
    int const pieces = flat ? 1 : kMatricesOfALayer * pool.job.model.layers;
    pool.followed.push_back({stage, RankMemory(l.capacity, t.allocator, pieces)});
    if (options.record_allocations) pool.followed.back().memory.record_history();
  }
}

std::optional<OomRecord> follow_phase(PhaseRun const& p, Team* team) {
  if (p.pool.followed.empty() || p.phase == Phase::checkpoint) return std::nullopt;
  Team* const here = team != nullptr && team->pool == &p.pool ? team : nullptr;
  Work work;
  if (here != nullptr) {
    work = largest_work(*here, p.batch, p.phase);
    if (!p.run.options.memory_as_dealt) allow_largest(here->job, p.phase, work);
  }
  for (FollowedRank& followed : p.pool.followed) {
    followed.memory.set_time(p.run.engine.now());
    Step const step = take_through(p, here, work, followed);
    if (!step.failure) continue;
    OomRecord oom = record_of(p, here, work, followed, step);
    oom.rank = leaking_rank(p.pool).value_or(oom.rank);  // it has the least room
    if (p.run.options.record_allocations)
      p.run.log.snapshot = followed.memory.snapshot(oom.rank % p.pool.job.cluster.node.gpus);
    return oom;
  }
  return std::nullopt;
}

void record_followed(PhaseRun const& p, Seconds start) {
  Seconds const length = p.run.engine.now() - start;
  for (FollowedRank& followed : p.pool.followed) {
    auto const marks = followed.memory.take_marks();
    if (marks.empty()) continue;
    // A run that ends here has not done all of the program.
    Seconds const whole = length / std::max(marks.back().done, 1e-9);
    for (int c = 0; c < p.pool.classes(); ++c) {
      if (&p.pool.ledger_of(p.pool.first_class() + c) != &ledger_of(p.pool, followed.stage)) continue;
      double from = 0;
      for (MemoryMark const& m : marks) {
        Counter counter{.rank_class = p.pool.first_class() + c,
                        .kind = CounterKind::torch_allocated,
                        .role = Role::process,
                        .category = MemoryCategory::allocator_cache,
                        .time = start + from * whole,
                        .value = m.allocated.value};
        p.recorder.counter(counter);
        counter.kind = CounterKind::torch_reserved;
        counter.value = m.reserved.value;
        p.recorder.counter(counter);
        from = m.done;
      }
      break;  // one class stands for the stage
    }
  }
}

void keep_snapshot(RunState& run) {
  if (!run.options.record_allocations || run.log.snapshot) return;
  FollowedRank const* fullest = nullptr;
  for (auto const& pool : run.pools) {
    if (!holds_models(pool->job)) continue;
    for (FollowedRank const& f : pool->followed) {
      if (fullest == nullptr || f.memory.stats().peak_reserved > fullest->memory.stats().peak_reserved)
        fullest = &f;
    }
  }
  if (fullest != nullptr) run.log.snapshot = fullest->memory.snapshot(0);
}

std::string retries_note(RunState const& run) {
  std::string list;
  for (auto const& pool : run.pools) {
    std::int64_t most = 0;
    for (FollowedRank const& f : pool->followed) most = std::max(most, f.memory.stats().num_alloc_retries);
    if (most > 0)
      list += fmt::format("{}{} times on {}", list.empty() ? "" : ", ", most,
                          run.log.pools[static_cast<std::size_t>(pool->index)].name);
  }
  if (list.empty()) return {};
  return "PyTorch's allocator gave its cache back to find room (num_alloc_retries) " + list +
         ": the GPU waits each time, which is not priced here; smaller micro-batches or expandable segments "
         "avoid "
         "it";
}

}  // namespace rollcast
