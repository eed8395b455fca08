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
