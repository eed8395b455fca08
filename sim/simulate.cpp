#include "sim/simulate.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "sim/phases.hpp"
#include "sim/run_setup.hpp"
#include "sim/schedules.hpp"

namespace rollcast {
namespace {

// Why the engines would refuse to start; empty: they start.
std::string engine_refusal(RolloutPool const& rollout) {
  Job const& job = rollout.job;
  if (job.rollout.kind == EngineKind::hf) return {};  // no pages
  if (rollout.kv_blocks <= 0) {
    return fmt::format("the rollout engine has no memory for KV pages at gpu_memory_utilization {}",
                       job.rollout.gpu_memory_utilization);
  }
  std::int64_t const longest_sequence =
      longest(job.workload.prompt_tokens) + longest(job.workload.response_tokens);
  std::int64_t const tokens = rollout.kv_blocks * job.rollout.block_size;
  if (longest_sequence > tokens) {
    return fmt::format("the longest sequence has {} tokens, the KV pages of an engine hold {}",
                       longest_sequence, tokens);
  }
  return {};
}

// "no table covers all_gather of 16 ranks on 2 nodes , ..."; empty where tables cover all.
std::string unmeasured_collectives(RunState const& run) {
  std::string list;
  for (auto const& pool : run.pools) {
    for (PricedGroup const& g : pool->prices->answered()) {
      if (g.evidence != Evidence::unmeasured) continue;
      list += fmt::format("{}{} of {} ranks on {} {}", list.empty() ? "" : ", ", g.operation, g.group.ranks,
                          g.group.nodes, g.group.nodes == 1 ? "node" : "nodes");
    }
  }
  return list.empty() ? list
                      : "no table covers these collectives, NCCL's model or the correction of another one "
                        "prices them: " +
                            list;
}

void drive(RunState& run) {
  switch (run.job.schedule.kind) {
    case ScheduleKind::synchronous:
      return run_synchronous(run);
    case ScheduleKind::one_step_off:
      return run_one_step_off(run);
    case ScheduleKind::async:
      return run_asynchronous(run);
  }
}

}  // namespace

EventLog simulate(Scenario const& scenario, std::span<Profile const* const> of_pools,
                  RunOptions const& options) {
  EventLog log = new_log(scenario, of_pools, options);
  Engine engine;
  Collectives collectives(engine);
  Recorder recorder(log);
  RunState run{.job = scenario.job,
               .options = options,
               .log = log,
               .recorder = recorder,
               .engine = engine,
               .collectives = collectives};
  set_up(run, of_pools);
  if (run.rollout) {
    if (std::string const refusal = engine_refusal(*run.rollout); !refusal.empty()) {
      log.outcome = Outcome::refused;
      log.outcome_reason = refusal;
      return log;
    }
  }
  engine.spawn("driver", [&] { drive(run); });
  RunResult const result = engine.run();
  if (!result.leftovers.empty() && !run.stopped)
    throw std::logic_error("simulation ended with work left over: " + result.leftovers.front());
  if (std::string note = unmeasured_collectives(run); !note.empty()) log.notes.push_back(std::move(note));
  return log;
}

EventLog simulate(Scenario const& scenario, Profile const& profile, RunOptions const& options) {
  std::vector<Profile const*> const all(pools_of(scenario.job).size(), &profile);
  return simulate(scenario, all, options);
}

}  // namespace rollcast
