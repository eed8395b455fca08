#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "models/roles.hpp"
#include "scenarios/scenario.hpp"

namespace rollcast {
namespace {

// Empty: a run can follow this order.
std::string_view fault_of_order(std::vector<Phase> const& order, bool generates) {
  auto const at = [&](Phase p) { return std::find(order.begin(), order.end(), p); };
  if (at(Phase::update_actor) == order.end()) return "a step without update_actor";
  if (!generates) return {};
  if (at(Phase::generate) == order.end()) return "a step without generate";
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
  refuse(job.score.environment && job.score.environment->keep_kv, "score.environment.keep_kv",
         "KV that is kept during a tool call");
  refuse(job.cluster.storage_fabric.has_value(), "cluster.storage_fabric", "a second network");
  bool const read = job.serve && job.serve->adapters.host_adapters > 0 &&
                    job.serve->adapters.storage == AdapterStorage::shared;
  refuse(!read && (job.cluster.storage.read.value > 0 || job.cluster.storage.write.value > 0),
         "cluster.storage", "a shared file system");
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
  add_new_options(add, job);
  if (job.serve) return problems;
  if (job.train.offload.parameters)
    add("train.offload.parameters", "training with parameters in host memory", "remove the key; " + memory);
  if (int const replicas = data_parallel(job); replicas > kMostReplicas) {
    add("train.parallel", fmt::format("training with {} data-parallel replicas", replicas),
        fmt::format("{} are the most; write more ranks per replica, or fewer nodes", kMostReplicas));
  }
  if (contains(step_phases(job), Phase::checkpoint))
    add("framework.order", name_of(Phase::checkpoint),
        "take it out of the order, and write checkpoint: {every: 1}");
  bool const synchronous = job.schedule.kind == ScheduleKind::synchronous;
  if (job.validation.every > 0 && !synchronous)
    add("validation.every", "validation beside training", "remove the key");
  if (job.checkpoint.every > 0 && !synchronous)
    add("checkpoint.every", "saving beside generation", "remove the key");
  if (std::string_view const why = fault_of_order(step_phases(job), generates(job.algorithm.kind));
      !why.empty())
    add("framework.order", why, "write generate before the phases of training, with update_actor among them");
  return problems;
}

}  // namespace rollcast
