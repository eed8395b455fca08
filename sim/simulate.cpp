#include "sim/simulate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <stdexcept>

#include "models/rollout_prices.hpp"
#include "sim/cluster.hpp"
#include "sim/crossings.hpp"
#include "sim/memory.hpp"
#include "sim/platform.hpp"
#include "sim/run_state.hpp"

namespace rollcast {
namespace {

EventLog log_of(Scenario const& scenario, Profile const& profile, RunOptions const& options) {
  Job const& job = scenario.job;
  EventLog log;
  log.scenario = scenario.name;
  log.seed = options.seed;
  Gpu const& gpu = job.cluster.node.gpu;
  log.pools.push_back({.name = "all",
                       .node = job.cluster.node.name,
                       .gpu = gpu.name,
                       .gpus = job.cluster.gpus(),
                       .peak_flops = gpu.bf16,
                       .memory_bandwidth = gpu.memory_bandwidth,
                       .capacity = gpu.visible_memory,
                       .prices = profile.note});
  if (scenario.measured) {
    log.measured = scenario.measured->values;
    log.measured_source = scenario.measured->source;
  }
  log.ledgers = memory_ledger(job);
  return log;
}

// Stages with equal lines share a ledger: the last one that starts at or before the stage.
std::vector<int> ledgers_of_classes(std::vector<RankLedger> const& ledgers, Placement const& placement) {
  std::vector<int> of_class;
  for (ClassPlace const& place : placement.places) {
    int found = 0;
    for (std::size_t l = 0; l < ledgers.size(); ++l) {
      if (ledgers[l].pipeline_stage <= place.stage) found = static_cast<int>(l);
    }
    of_class.push_back(found);
  }
  return of_class;
}

std::vector<CommunicatorId> add_gradient_groups(Job const& job, Profile const& profile, Engine& engine,
                                                Collectives& collectives) {
  Cluster const cluster = build_cluster(job.cluster, profile);
  std::vector<Traffic> traffics;
  for (int stage = 0; stage < job.train.parallel.pp; ++stage) {
    Traffic traffic{fmt::format("gradients of stage {}", stage), {}};
    for (auto const& ranks : gradient_groups(job, stage))
      traffic.copies.push_back(ring_crossings(cluster, ranks));
    traffics.push_back(std::move(traffic));
  }
  auto const parts = build_platform(engine, cluster, traffics);
  std::vector<CommunicatorId> communicators;
  for (std::size_t s = 0; s < traffics.size(); ++s) {
    communicators.push_back(collectives.add_communicator({traffics[s].name, data_parallel(job), parts[s]}));
  }
  return communicators;
}

// Scoring by rules and the other work of the driver: every GPU waits.
void score(RunState& run) {
  Seconds const start = run.engine.now();
  Seconds const scored = start + run.job.score.seconds_per_sample * static_cast<double>(run.samples.size());
  Seconds const end = scored + run.job.framework.driver_per_step;
  for (int c = 0; c < run.classes(); ++c) {
    run.recorder.span(c, Stream::host, Activity::driver, "rules score the samples", start, scored);
    run.recorder.span(c, Stream::host, Activity::driver, "controller", scored, end);
  }
  run.engine.delay(end - start);
}

void hand_over_samples(RunState& run, Seconds sent) {
  std::vector<int> engine_of(run.samples.size());  // samples are numbered from 0
  auto const generated = shard(run.samples, static_cast<int>(run.placement.classes_of_engine.size()));
  for (std::size_t e = 0; e < generated.size(); ++e) {
    for (Sample const& s : generated[e]) engine_of[static_cast<std::size_t>(s.id)] = static_cast<int>(e);
  }
  auto const trained = logprob_shards(run);
  std::map<std::pair<int, int>, int> counts;  // (engine, replica) -> samples
  for (std::size_t r = 0; r < trained.size(); ++r) {
    for (Sample const& s : trained[r])
      ++counts[{engine_of[static_cast<std::size_t>(s.id)], static_cast<int>(r)}];
  }
  for (auto const& [pair, samples] : counts) {
    auto const [engine, replica] = pair;
    int const from = run.placement.classes_of_engine[static_cast<std::size_t>(engine)].front();
    int const to = run.placement.classes_of_stage[static_cast<std::size_t>(replica)].front().front();
    run.recorder.handover({run.step, from, to, sent, run.engine.now(), samples});
  }
}

void work(RunState& run, Phase phase) {
  switch (phase) {
    case Phase::generate:
      return generate(run);
    case Phase::score:
      return score(run);
    case Phase::old_logprob:
    case Phase::reference:
      return log_probabilities(run);
    case Phase::update_actor:
      return update_actor(run);
    case Phase::weight_sync:
      return synchronise_weights(run);
    case Phase::sleep:
    case Phase::wake:
    case Phase::advantage:
      return;  // copies and overhead only
    case Phase::values:
    case Phase::update_critic:
    case Phase::checkpoint:
      break;
  }
  throw std::logic_error(fmt::format("phase {} is not simulated", name_of(phase)));
}

void fixed_part(RunState& run, std::string_view label, Seconds duration) {
  Seconds const start = run.engine.now();
  for (int c = 0; c < run.classes(); ++c) {
    run.recorder.span(c, Stream::host, Activity::overhead, label, start, start + duration);
  }
  run.engine.delay(duration);
}

// False: the phase does not fit.
bool run_phase(RunState& run, Phase phase) {
  run.recorder.enter(run.step, phase);
  Seconds const start = run.engine.now();
  record_memory(run, phase);
  if (auto const oom = out_of_memory(run, phase)) {
    run.log.ooms.push_back(*oom);
    run.log.outcome = Outcome::oom;
    run.log.outcome_reason =
        fmt::format("rank {} runs out of {}memory in {} of step {}: {} needs {}, {} are free", oom->rank,
                    oom->kind == "host" ? "host " : "", name_of(phase), run.step + 1, oom->allocation,
                    format(oom->requested), format(oom->free));
    return false;
  }
  std::vector<std::vector<HostCopy>> before;
  std::vector<std::vector<HostCopy>> after;
  Seconds fixed;
  for (int c = 0; c < run.classes(); ++c) {
    Switching s = switching(run.job, run.ledger_of(c), phase);
    before.push_back(std::move(s.before));
    after.push_back(std::move(s.after));
    fixed = s.fixed;
  }
  fixed_part(run, "engine switches", fixed);
  copy_to_and_from_host(run, before);
  work(run, phase);
  copy_to_and_from_host(run, after);
  run.recorder.window(0, start, run.engine.now());
  return true;
}

bool run_step(RunState& run, std::uint64_t seed) {
  run.samples = samples_of_step(run.job, seed, run.step);
  StepRecord record;
  record.start = run.engine.now();
  record.samples = static_cast<std::int64_t>(run.samples.size());
  for (Sample const& s : run.samples) {
    record.prompt_tokens += s.prompt_tokens;
    record.response_tokens += s.response_tokens;
  }
  run.log.steps.push_back(record);
  Seconds generated;
  for (Phase phase : run.job.framework.order) {
    if (phase == Phase::reference && !run.job.algorithm.kl_reference) continue;
    if (!run_phase(run, phase)) return false;
    if (phase == Phase::generate) generated = run.engine.now();
    if (phase == Phase::score) hand_over_samples(run, generated);
  }
  run.log.steps.back().end = run.engine.now();
  return true;
}

// Why the engines would refuse to start; empty: they start.
std::string engine_refusal(Job const& job, std::int64_t blocks) {
  if (blocks <= 0) {
    return fmt::format("the rollout engine has no memory for KV pages at gpu_memory_utilization {}",
                       job.rollout.gpu_memory_utilization);
  }
  std::int64_t const longest_sequence =
      longest(job.workload.prompt_tokens) + longest(job.workload.response_tokens);
  std::int64_t const tokens = blocks * job.rollout.block_size;
  if (longest_sequence > tokens) {
    return fmt::format("the longest sequence has {} tokens, the KV pages of an engine hold {}",
                       longest_sequence, tokens);
  }
  return {};
}

// "no table covers all_gather of 16 ranks on 2 nodes , ..."; empty where tables cover all.
std::string unmeasured_collectives(CollectivePrices const& prices) {
  std::string list;
  for (PricedGroup const& g : prices.answered()) {
    if (g.evidence != Evidence::unmeasured) continue;
    list += fmt::format("{}{} of {} ranks on {} {}", list.empty() ? "" : ", ", g.operation, g.group.ranks,
                        g.group.nodes, g.group.nodes == 1 ? "node" : "nodes");
  }
  return list.empty() ? list
                      : "no table covers these collectives, NCCL's model or the correction of another one "
                        "prices them: " +
                            list;
}

}  // namespace

EventLog simulate(Scenario const& scenario, Profile const& profile, RunOptions const& options) {
  Job const& job = scenario.job;
  EventLog log = log_of(scenario, profile, options);
  Placement const placement = colocated_placement(job);
  log.rank_classes = placement.classes;
  log.ledger_of_class = ledgers_of_classes(log.ledgers, placement);
  std::int64_t const blocks = kv_blocks(job);
  if (std::string const refusal = engine_refusal(job, blocks); !refusal.empty()) {
    log.outcome = Outcome::refused;
    log.outcome_reason = refusal;
    return log;
  }
  Engine engine;
  Collectives collectives(engine);
  CollectivePrices collective_prices(profile, job.cluster);
  Recorder recorder(log);
  RunState run{.job = job,
               .profile = profile,
               .collective_prices = collective_prices,
               .log = log,
               .recorder = recorder,
               .engine = engine,
               .collectives = collectives,
               .placement = placement,
               .stages = pipeline_stages(job.model, job.train.parallel.pp),
               .gradients = add_gradient_groups(job, profile, engine, collectives),
               .step_prices = rollout_step_prices(profile, collective_prices, job.model, job.rollout),
               .kv_blocks = blocks};
  engine.spawn("driver", [&] {
    for (run.step = 0; run.step < options.steps; ++run.step) {
      if (!run_step(run, options.seed)) {
        log.steps.pop_back();  // a step that ran out of memory has no length
        return;
      }
    }
  });
  RunResult const result = engine.run();
  if (!result.leftovers.empty()) {
    throw std::logic_error("simulation ended with work left over: " + result.leftovers.front());
  }
  if (std::string note = unmeasured_collectives(collective_prices); !note.empty())
    log.notes.push_back(std::move(note));
  return log;
}

}  // namespace rollcast
