#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "scenarios/scenario.hpp"

namespace rollcast {
namespace {

// Empty: a run can follow this order.
std::string_view fault_of_order(std::vector<Phase> const& order) {
  auto const at = [&](Phase p) { return std::find(order.begin(), order.end(), p); };
  if (at(Phase::generate) == order.end()) return "a step without generate";
  if (at(Phase::update_actor) == order.end()) return "a step without update_actor";
  for (Phase p : {Phase::score, Phase::old_logprob, Phase::reference, Phase::update_actor}) {
    if (at(p) < at(Phase::generate)) return "training on samples before they are generated";
  }
  return {};
}

constexpr int kMostReplicas = 25'000;  // each is an actor of the engine, which takes 30,000

// "f.yaml:12" or "--set ..." of the key or of the first value below it that was written by hand, else the
// file.
std::string place_of(Scenario const& s, std::string const& key) {
  for (Origin const& o : s.origins) {
    bool const below = o.key == key || o.key.starts_with(key + '.');
    if (below && (o.from.starts_with(s.file + ':') || o.from.starts_with("--set "))) return o.from;
  }
  return s.file;
}

// Options that nothing computes with yet.
template <class Add>
void add_new_options(Add const& add, Job const& job) {
  auto const refuse = [&](bool given, std::string key, std::string_view what) {
    if (given) add(std::move(key), what, "remove the key");
  };
  Algorithm const& a = job.algorithm;
  refuse(!job.pools.empty(), "pools", "a run on several pools");
  refuse(a.reward_model, "algorithm.reward", "a reward model");
  refuse(a.equal_reward_groups > 0, "algorithm.equal_reward_groups", "a share of groups without signal");
  refuse(a.dynamic_sampling.has_value(), "algorithm.dynamic_sampling", "dynamic sampling");
  TrainerOptions const& t = job.train;
  refuse(t.dynamic_batching, "train.dynamic_batching", "dynamic batching");
  refuse(t.balance == Balance::karmarkar_karp, "train.balance", "karmarkar_karp");
  refuse(t.packing != (t.balance == Balance::sorted), "train.balance", name_of(t.balance));
  refuse(t.padding != Padding::longest, "train.padding", name_of(t.padding));
  refuse(t.context_parallel == ContextParallel::ulysses, "train.context_parallel", "ulysses");
  refuse(t.kernels != KernelStack::fused, "train.kernels", name_of(t.kernels));
  refuse(t.fp8_scaling == Fp8Scaling::block, "train.fp8_scaling", "block");
  refuse(t.virtual_stages > 1, "train.virtual_stages", "an interleaved pipeline");
  refuse(t.first_stage_layers.has_value(), "train.first_stage_layers", "an uneven stage");
  refuse(t.last_stage_layers.has_value(), "train.last_stage_layers", "an uneven stage");
  refuse(t.shard_ranks > 0, "train.shard_ranks", "sharding over part of the ranks");
  EngineOptions const& e = job.rollout;
  refuse(e.kind != EngineKind::vllm, "rollout.engine", name_of(e.kind));
  refuse(e.parallel.ep > 1, "rollout.parallel.ep", "expert parallelism in the engine");
  refuse(e.data_parallel_attention, "rollout.data_parallel_attention", "data-parallel attention");
  refuse(e.speculative.has_value(), "rollout.speculative", "speculative decoding");
  refuse(e.feed > 0, "rollout.feed", "feeding an engine in parts");
  refuse(e.balance != EngineBalance::contiguous, "rollout.balance", name_of(e.balance));
  refuse(e.oversampling > 1, "rollout.oversampling", "oversampling");
  refuse(e.partial_rollout, "rollout.partial_rollout", "partial rollout");
  refuse(job.score.workers > 1, "score.workers", "scoring on several workers");
  refuse(job.score.sandbox.has_value(), "score.sandbox", "a sandbox");
  refuse(job.score.environment.has_value(), "score.environment", "an environment");
  refuse(job.score.overlap, "score.overlap", "scoring during generation");
  refuse(job.framework.dispatch_per_phase.value > 0, "framework.dispatch_per_phase", "dispatching");
}

}  // namespace

std::vector<Problem> check_simulated(Scenario const& s) {
  std::vector<Problem> problems;
  auto const add = [&](std::string key, std::string_view value, std::string remedy) {
    std::string place = place_of(s, key);
    problems.push_back({std::move(place), 0, 0, std::move(key), fmt::format("{} is not simulated yet", value),
                        std::move(remedy), ""});
  };
  Job const& job = s.job;
  std::string const memory = "'rollcast memory' takes it";
  if (job.algorithm.kind != AlgorithmKind::grpo)
    add("algorithm.kind", name_of(job.algorithm.kind), "write kind: grpo; " + memory);
  if (job.algorithm.adapter)
    add("algorithm.adapter.kind", name_of(job.algorithm.adapter->kind), "remove the adapter; " + memory);
  if (job.train.kind != TrainerKind::megatron)
    add("train.trainer", name_of(job.train.kind), "write trainer: megatron; " + memory);
  if (job.framework.kind != FrameworkKind::nemo_rl)
    add("framework", "a run without a framework", "write framework: nemo-rl; " + memory);
  add_new_options(add, job);
  if (job.schedule.kind != ScheduleKind::synchronous)
    add("schedule", name_of(job.schedule.kind), "write schedule: synchronous");
  for (auto const& [key, held] : {std::pair("train.offload.parameters", job.train.offload.parameters),
                                  std::pair("train.offload.gradients", job.train.offload.gradients),
                                  std::pair("train.offload.optimizer", job.train.offload.optimizer)}) {
    if (held) add(key, "training from host memory", "remove the key; " + memory);
  }
  if (int const replicas = data_parallel(job); replicas > kMostReplicas) {
    add("train.parallel", fmt::format("training with {} data-parallel replicas", replicas),
        fmt::format("{} are the most; write more ranks per replica, or fewer nodes", kMostReplicas));
  }
  if (job.algorithm.kind != AlgorithmKind::grpo || job.framework.kind != FrameworkKind::nemo_rl)
    return problems;
  for (Phase p : {Phase::values, Phase::update_critic, Phase::checkpoint}) {
    auto const& order = job.framework.order;
    if (std::find(order.begin(), order.end(), p) != order.end())
      add("framework.order", name_of(p), "take it out of the order");
  }
  if (std::string_view const why = fault_of_order(job.framework.order); !why.empty())
    add("framework.order", why, "write generate before the phases of training, with update_actor among them");
  return problems;
}

}  // namespace rollcast
