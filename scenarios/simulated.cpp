#include <fmt/format.h>

#include "scenarios/scenario.hpp"

namespace rollcast {
namespace {

constexpr int kMostReplicas = 25'000;  // each is an actor of the engine, which takes 30,000

bool is_simulated(Phase phase) {
  return phase != Phase::values && phase != Phase::update_critic && phase != Phase::checkpoint;
}

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
  for (Phase phase : job.framework.order) {
    if (!is_simulated(phase))
      add("framework.order", fmt::format("the phase {}", name_of(phase)), "remove it from the order");
  }
  Parallel const& p = job.train.parallel;
  if (int const replicas = job.cluster.gpus() / (p.tp * p.pp * p.cp); replicas > kMostReplicas) {
    add("train.parallel", fmt::format("training with {} data-parallel replicas", replicas),
        fmt::format("{} are the most; write more ranks per replica, or fewer nodes", kMostReplicas));
  }
  return problems;
}

}  // namespace rollcast
