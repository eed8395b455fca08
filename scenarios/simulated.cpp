#include <fmt/format.h>

#include <algorithm>

#include "scenarios/scenario.hpp"

namespace rollcast {

std::vector<Problem> check_simulated(Scenario const& s) {
  std::vector<Problem> problems;
  auto const add = [&](std::string key, std::string_view value, std::string remedy) {
    auto const origin =
        std::find_if(s.origins.begin(), s.origins.end(), [&](Origin const& o) { return o.key == key; });
    std::string const place = origin == s.origins.end() ? s.name : origin->from;
    problems.push_back(
        {place, 0, 0, std::move(key), fmt::format("{} is not simulated yet", value), std::move(remedy), ""});
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
  return problems;
}

}  // namespace rollcast
