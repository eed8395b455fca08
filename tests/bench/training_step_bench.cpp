// One training step of Llama-3-70B with all its collectives, every rank or replica with micro-batches of its
// own length. Goals: FSDP2 over 1,024 GPUs 0.2 s, over 16,384 3 s and 1 GiB; Megatron TP8 with 2,048 replicas
// 0.5 s.
//
// Collectives: each layer's gathers and its reduce-scatter as operations of the engine, a flow each, with the
// watchdog's alarm on each. Run: simulate() of the whole step from a scenario, as `rollcast run` does, where
// what the layers of a pass exchange is priced in closed form and the gradients' buckets are flows.
#include <cstdint>
#include <stdexcept>
#include <string>

#include "calibrate/profiles.hpp"
#include "models/pools.hpp"
#include "scenarios/scenario.hpp"
#include "sim/collectives.hpp"
#include "sim/simulate.hpp"
#include "tests/bench/fork_timer.hpp"

namespace rollcast {
namespace {

constexpr int kLayers = 80;
constexpr double kLayerBytes = 855.7e6 * 2;  // Llama-3-70B, bf16

// Three collectives of a layer: gathered for forward and for backward, gradients scattered. A member's
// micro-batch is 0 to 20 % longer than the shortest.
void fsdp_step(int ranks) {
  ScenarioResult const read =
      read_scenario_text("model: llama-3-70b\ncluster: {node: hgx-h100, nodes: " + std::to_string(ranks / 8) +
                             "}\nalgorithm: {kind: sft, train_batch: " + std::to_string(ranks) +
                             "}\nworkload: {prompt_tokens: 1, response_tokens: 2}\ntrain: {trainer: fsdp2}\n",
                         "bench", {});
  Job const& job = read.scenario->job;
  Profile const profile = profile_for(job.cluster.node.gpu);
  Cluster const cluster = build_cluster(job.cluster, profile);
  std::vector<int> gpus;
  for (int r = 0; r < ranks; ++r) gpus.push_back(r);
  Engine engine;
  auto const parts = build_platform(engine, cluster, {{"fsdp", {ring_crossings(cluster, gpus)}}});
  Collectives collectives(engine);
  bool late = false;
  collectives.set_timeout(Seconds(600), [&late](CommunicatorId) { late = true; });
  CommunicatorId const group = collectives.add_communicator({"fsdp", ranks, parts[0]});
  CollectivePrice const price{us(60), bytes(kLayerBytes * (ranks - 1) / ranks), GB_per_s(300)};
  for (int m = 0; m < ranks; ++m) {
    engine.spawn("rank", [&, m] {
      double const length = 1 + 0.2 * static_cast<double>(std::uint32_t(m) * 2654435761u) / 4294967296.0;
      Seconds const layer = ms(40) * length;
      std::vector<Arrival> arrivals;
      for (int i = 0; i < 3 * kLayers; ++i) arrivals.push_back({engine.now() + layer * i, price});
      collectives.join(group, collectives.post(group, m, arrivals) + 3 * kLayers - 1);
    });
  }
  RunResult const r = engine.run();
  if (late || !r.leftovers.empty() || collectives.records().size() != 3 * kLayers)
    throw std::logic_error("the step did not end");
}

void FsdpCollectives(benchmark::State& state) {
  auto const ranks = static_cast<int>(state.range(0));
  time_in_children(state, [ranks] { fsdp_step(ranks); });
}
BENCHMARK(FsdpCollectives)
    ->Name("TrainingStep/FSDP2_collectives")
    ->Arg(1024)
    ->Arg(16384)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

// train: of 8 GPUs a node.
void run_step(benchmark::State& state, int gpus, int samples, std::string const& train) {
  ScenarioResult const read =
      read_scenario_text("model: llama-3-70b\ncluster: {node: hgx-h100, nodes: " + std::to_string(gpus / 8) +
                             "}\nalgorithm: {kind: sft, train_batch: " + std::to_string(samples) +
                             "}\nworkload: {prompt_tokens: 128, response_tokens: {lognormal: {mean: 2000, "
                             "p95: 5000}, max: 8000}}\n"
                             "train: " +
                             train + "\n",
                         "bench", {});
  if (!read.scenario) {
    state.SkipWithError("the scenario does not read");
    return;
  }
  time_in_children(state, [&] {
    Profile const profile = profile_for(read.scenario->job.cluster.node.gpu);
    EventLog const log = simulate(*read.scenario, profile, {.steps = 1, .seed = 1});
    if (log.steps.size() != 1) throw std::logic_error("the step did not end: " + log.outcome_reason);
  });
}

void FsdpRun(benchmark::State& state) {
  auto const gpus = static_cast<int>(state.range(0));
  run_step(state, gpus, gpus, "{trainer: fsdp2, micro_batch: 1, recompute: full, cross_entropy: linear}");
}
BENCHMARK(FsdpRun)
    ->Name("TrainingStep/FSDP2_run")
    ->Arg(1024)
    ->Arg(16384)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

void MegatronRun(benchmark::State& state) {
  auto const replicas = static_cast<int>(state.range(0));
  run_step(
      state, 8 * replicas, 2 * replicas,
      "{trainer: megatron, parallel: {tp: 8}, micro_batch: 1, recompute: full, distributed_optimizer: true}");
}
BENCHMARK(MegatronRun)
    ->Name("TrainingStep/Megatron_TP8_run")
    ->Arg(2048)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace rollcast
