#include "sim/simulate.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "models/engine_start.hpp"
#include "sim/checkpoint.hpp"
#include "sim/faults.hpp"
#include "sim/followed_memory.hpp"
#include "sim/incident.hpp"
#include "sim/memory.hpp"
#include "sim/phases.hpp"
#include "sim/run_setup.hpp"
#include "sim/schedules.hpp"
#include "sim/serving.hpp"
#include "sim/time_limits.hpp"

namespace rollcast {
namespace {

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
  if (run.job.serve) return run_serving(run);
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
  log.long_run = long_run_plan(run);
  if (run.rollout) {
    if (std::string const refusal = engine_start(run.rollout->job).refusal; !refusal.empty()) {
      log.outcome = Outcome::refused;
      log.outcome_reason = refusal;
      return log;
    }
  }
  if (auto const oom = out_of_memory_at_load(run)) {
    log.ooms.push_back(*oom);
    log.outcome = Outcome::oom;
    log.outcome_reason = fmt::format("a node runs out of host memory: {} need {} of {}", oom->allocation,
                                     format(oom->requested), format(oom->free));
    return log;
  }
  collectives.set_timeout(run.job.watchdog.timeout,
                          [&run](CommunicatorId id) { end_late_collective(run, id); });
  arm_faults(run);
  engine.spawn("driver", [&] {
    drive(run);
    disarm_faults(run);
  });
  try {
    RunResult const result = engine.run();
    if (!result.leftovers.empty() && !run.stopped)
      throw std::logic_error("simulation ended with work left over: " + result.leftovers.front());
  } catch (RunEnded const&) {  // the log has it all
  }
  keep_snapshot(run);
  if (std::string note = retries_note(run); !note.empty()) log.notes.push_back(std::move(note));
  if (std::string note = unhappened_faults(run); !note.empty()) log.notes.push_back(std::move(note));
  if (std::string note = unmeasured_collectives(run); !note.empty()) log.notes.push_back(std::move(note));
  return log;
}

EventLog simulate(Scenario const& scenario, std::vector<Profile> const& of_pools, RunOptions const& options) {
  std::vector<Profile const*> each;
  for (Profile const& p : of_pools) each.push_back(&p);
  return simulate(scenario, each, options);
}

EventLog simulate(Scenario const& scenario, Profile const& profile, RunOptions const& options) {
  std::vector<Profile const*> const all(pools_of(scenario.job).size(), &profile);
  return simulate(scenario, all, options);
}

}  // namespace rollcast
