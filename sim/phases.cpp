#include "sim/phases.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <stdexcept>

#include "models/sync_gather.hpp"
#include "sim/checkpoint.hpp"
#include "sim/faults.hpp"
#include "sim/followed_memory.hpp"
#include "sim/generate_static.hpp"
#include "sim/memory.hpp"
#include "sim/sample_shards.hpp"
#include "sim/score.hpp"
#include "sim/serving.hpp"
#include "sim/time_limits.hpp"

namespace rollcast {
namespace {

Role role_of(Job const& job, Phase phase) {
  switch (phase) {
    case Phase::generate:
    case Phase::sleep:
    case Phase::wake:
      return Role::rollout;
    case Phase::score:
      return job.algorithm.reward_model ? Role::reward : Role::actor;
    case Phase::reference:
      return Role::reference;
    case Phase::values:
    case Phase::update_critic:
      return Role::critic;
    case Phase::old_logprob:
    case Phase::advantage:
    case Phase::update_actor:
    case Phase::weight_sync:
    case Phase::checkpoint:
      return Role::actor;
  }
  throw std::logic_error("no such Phase");
}

// Neighbours of one group do not need each other's results.
int group_of(Phase phase) {
  if (contains({Phase::score, Phase::old_logprob, Phase::reference, Phase::values}, phase)) return 1;
  if (contains({Phase::update_critic, Phase::update_actor}, phase)) return 2;
  return 0;
}

// The model that computes in the phase, if any.
Team* team_of(RunState const& run, Phase phase) {
  switch (phase) {
    case Phase::score:
      return run.find_team(Role::reward);
    case Phase::reference: {
      // An adapter's reference is the base model with the adapter switched off.
      Team* const own = run.find_team(Role::reference);
      return own != nullptr ? own : &run.team(Role::actor);
    }
    case Phase::values:
    case Phase::update_critic:
      return &run.team(Role::critic);
    case Phase::old_logprob:
    case Phase::update_actor:
      return &run.team(Role::actor);
    default:
      return nullptr;
  }
}

// The phase goes on up to the allocation that fails.
[[noreturn]] void stop_out_of_memory(PhaseRun const& p, OomRecord const& oom, Seconds start) {
  EventLog& log = p.run.log;
  if (oom.time > p.run.engine.now()) {
    p.run.engine.delay(oom.time - p.run.engine.now());
    for (int c = 0; c < p.pool.classes(); ++c) {
      p.recorder.span(p.pool.first_class() + c, Stream::compute, Activity::compute, "until out of memory",
                      start, oom.time);
    }
    record_followed(p, start);
  }
  log.ooms.push_back(oom);
  log.outcome = Outcome::oom;
  log.outcome_reason =
      fmt::format("rank {} runs out of {}memory in {} of {}: {}{}", oom.rank,
                  oom.kind == OomKind::host ? "host " : "", name_of(oom.phase), step_name(p.batch.step),
                  needs_text(oom), oom.kind == OomKind::driver ? " at the driver" : "");
  end_out_of_memory(p.run, oom);
}

void work(PhaseRun& p) {
  RunState& run = p.run;
  Team* const team = team_of(run, p.phase);
  switch (p.phase) {
    case Phase::generate: {
      if (run.job.serve) return serve(p);
      if (run.rollout->job.rollout.kind != EngineKind::hf) return generate(p);
      Seconds const start = run.engine.now();
      if (auto const oom = generate_static(p)) stop_out_of_memory(p, *oom, start);
      return;
    }
    case Phase::score:
      score_samples(p);
      if (team != nullptr) forward_pass(p, *team);
      return;
    case Phase::old_logprob:
    case Phase::reference:
    case Phase::values:
      return forward_pass(p, *team);
    case Phase::update_critic:
    case Phase::update_actor:
      update(p, *team);
      run.updated.insert(team->role);
      return;
    case Phase::weight_sync:
      return synchronise_weights(p);
    case Phase::sleep:
    case Phase::wake:
    case Phase::advantage:
      return;  // copies and overhead only
    case Phase::checkpoint:
      return save_checkpoint(p);
  }
  throw std::logic_error("no such Phase");
}

void overhead(PhaseRun& p, std::string_view label, Seconds duration) {
  if (!(duration.value > 0)) return;
  Seconds const start = p.run.engine.now();
  for (int c = 0; c < p.pool.classes(); ++c) {
    p.recorder.span(p.pool.first_class() + c, Stream::host, Activity::overhead, label, start,
                    start + duration);
  }
  p.run.engine.delay(duration);
}

void wait_since_last_phase(PhaseRun const& p) {
  Seconds const now = p.run.engine.now();
  for (int c = 0; c < p.pool.classes(); ++c) {
    p.recorder.span(p.pool.first_class() + c, Stream::compute, Activity::phase_wait, "waits for other pools",
                    p.pool.idle_since, now);
  }
}

bool refit_fails(PhaseRun const& p) {
  if (p.phase != Phase::weight_sync || !holds_models(p.pool.job)) return false;
  auto const tensor = too_large_for_refit(p.pool.job, p.pool.ledgers.front());
  if (!tensor) return false;
  EventLog& log = p.run.log;
  log.failures.push_back({p.run.engine.now(), "refit_buffer", p.pool.placement.classes.front().ranks.front(),
                          p.pool.index, p.batch.step, tensor->tensor, tensor->bytes, tensor->half});
  log.outcome = Outcome::failed;
  log.outcome_reason =
      fmt::format("the refit of {}: {} has {:.0f} B, half of its buffer holds {:.0f} B",
                  step_name(p.batch.step), tensor->tensor, tensor->bytes.value, tensor->half.value);
  p.run.stopped = true;
  return true;
}

struct Copies {
  std::vector<std::vector<HostCopy>> before;
  std::vector<std::vector<HostCopy>> after;
  Seconds fixed;
};

Copies copies_of(PhaseRun const& p) {
  Copies all;
  for (int c = 0; c < p.pool.classes(); ++c) {
    Switching s = switching(p.pool.job, p.pool.ledger_of(p.pool.first_class() + c), p.phase);
    all.before.push_back(std::move(s.before));
    all.after.push_back(std::move(s.after));
    all.fixed = s.fixed;
  }
  return all;
}

bool run_now(RunState& run, Batch& batch, Phase phase, bool validates = false) {
  PoolState& pool = *run.pools[static_cast<std::size_t>(pool_of_phase(run.job, phase))];
  PhaseRun p{run, pool, batch, phase, {run.recorder, batch.step, phase}, validates};
  wait_since_last_phase(p);
  Seconds const start = run.engine.now();
  Team* const team = team_of(run, phase);
  stop_watching_idle(run, pool);
  pool.progress = Progress{phase, &batch, team, start, {}};
  if (team != nullptr) note_micro_batches(p, *team);
  record_memory(p);
  auto oom = out_of_memory(p);
  if (!oom) oom = follow_phase(p, team);
  if (oom) {
    stop_out_of_memory(p, *oom, start);
    return false;
  }
  if (refit_fails(p)) return false;
  Copies const copies = copies_of(p);
  overhead(p, "engine switches", copies.fixed);
  overhead(p, "calls of the workers", run.job.framework.dispatch_per_phase);
  copy_to_and_from_host(p, copies.before);
  pool.progress->start = run.engine.now();
  start_faults(run, pool);
  work(p);
  if (run.stopped) return false;
  copy_to_and_from_host(p, copies.after);
  pool.progress.reset();
  watch_idle(run, pool);
  pool.idle_since = run.engine.now();
  p.recorder.window(pool.index, start, pool.idle_since);
  record_followed(p, start);
  return true;
}

// The critic's update on a copy of the batch, which the step does not outlive.
void leave_in_background(RunState& run, Batch const& batch, std::map<int, std::vector<Phase>>& of_pool) {
  if (!run.job.framework.critic_in_background) return;
  int const pool = pool_of_phase(run.job, Phase::update_critic);
  auto const mine = of_pool.find(pool);
  if (mine == of_pool.end() || mine->second != std::vector<Phase>{Phase::update_critic}) return;
  of_pool.erase(mine);
  wait_for_background(run, pool);
  auto const work = std::make_shared<Background>(Background{.pool = pool});
  run.background = work;
  run.engine.spawn("critic", [&run, work, copy = std::make_shared<Batch>(batch)] {
    run_now(run, *copy, Phase::update_critic);
    work->done = true;
    run.engine.wake(work->ready);
  });
}

// Phases of one group, pool by pool in order, each pool in an actor of its own.
bool run_group(RunState& run, Batch& batch, std::vector<Phase> const& phases) {
  std::map<int, std::vector<Phase>> of_pool;
  for (Phase p : phases) of_pool[pool_of_phase(run.job, p)].push_back(p);
  auto const run_all = [&run, &batch](std::vector<Phase> const& mine) {
    for (Phase p : mine) {
      if (run.stopped || !run_phase(run, batch, p)) return;
    }
  };
  if (of_pool.size() == 1) {
    run_all(phases);
    return !run.stopped;
  }
  leave_in_background(run, batch, of_pool);
  auto const left = std::make_shared<std::size_t>(of_pool.size());
  auto const done = std::make_shared<Wake>();
  for (auto const& [pool, mine] : of_pool) {
    run.engine.spawn(fmt::format("pool {}", pool), [&run, left, done, mine = mine, run_all] {
      run_all(mine);
      if (--*left == 0) run.engine.wake(*done);
    });
  }
  run.engine.wait(*done);
  return !run.stopped;
}

}  // namespace

int pool_of_phase(Job const& job, Phase phase) { return pool_of(job, role_of(job, phase)); }

void wait_for_background(RunState& run, int pool) {
  std::shared_ptr<Background> const work = run.background;
  if (!work || work->pool != pool) return;
  while (!work->done) run.engine.wait(work->ready);
  run.background.reset();
}

bool run_phase(RunState& run, Batch& batch, Phase phase) {
  wait_for_background(run, pool_of_phase(run.job, phase));
  return run_now(run, batch, phase);
}

bool has_memory(RunState& run, Batch& batch, Phase phase) {
  PoolState& pool = *run.pools[static_cast<std::size_t>(pool_of_phase(run.job, phase))];
  PhaseRun p{run, pool, batch, phase, {run.recorder, batch.step, phase}};
  auto oom = out_of_memory(p);
  if (!oom) oom = follow_phase(p, nullptr);
  if (!oom) return true;
  pool.progress = Progress{phase, &batch, nullptr, run.engine.now(), {}};
  stop_out_of_memory(p, *oom, run.engine.now());
}

bool run_validation_phase(RunState& run, Batch& batch, Phase phase) {
  wait_for_background(run, pool_of_phase(run.job, phase));
  return run_now(run, batch, phase, true);
}

bool run_phases(RunState& run, Batch& batch, std::vector<Phase> const& phases) {
  for (std::size_t i = 0; i < phases.size();) {
    std::vector<Phase> group = {phases[i++]};
    while (i < phases.size() && group_of(group.front()) > 0 && group_of(phases[i]) == group_of(group.front()))
      group.push_back(phases[i++]);
    if (!run_group(run, batch, group)) return false;
  }
  return true;
}

std::vector<Phase> training_phases(Job const& job, int step) {
  std::vector<Phase> phases = without(step_phases(job), {Phase::generate, Phase::sleep, Phase::wake});
  bool const warm_up = job.algorithm.kind == AlgorithmKind::ppo && step < job.algorithm.critic_warmup;
  return warm_up ? without(phases, {Phase::update_actor, Phase::weight_sync}) : phases;
}

void hand_over_samples(RunState& run, Batch& batch) {
  Team const& actor = run.team(Role::actor);
  auto const& trained = dealt_to(actor, batch);
  std::map<std::pair<int, int>, int> counts;  // (engine, replica) -> samples
  for (std::size_t r = 0; r < trained.size(); ++r) {
    for (int i : trained[r]) ++counts[{batch.engine_of[static_cast<std::size_t>(i)], static_cast<int>(r)}];
  }
  Placement const& from = run.rollout->pool->placement;
  Placement const& to = actor.pool->placement;
  for (auto const& [pair, samples] : counts) {
    auto const [engine, replica] = pair;
    run.recorder.handover({batch.step, from.classes_of_engine[static_cast<std::size_t>(engine)].front(),
                           to.classes_of_stage[static_cast<std::size_t>(replica)].front().front(),
                           batch.generated, max(batch.generated, run.engine.now()), samples});
  }
}

}  // namespace rollcast
