#include "scenarios/check_adapters.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>

namespace rollcast {

std::vector<Problem> check_adapters(Job const& job) {
  auto const& adapter = job.algorithm.adapter;
  if (!adapter || adapter->count == 1) return {};
  std::vector<Problem> problems;
  auto const add = [&](std::string key, std::string what, std::string remedy) {
    problems.push_back({"", 0, 0, std::move(key), std::move(what), std::move(remedy), ""});
  };
  int const count = adapter->count;
  if (generates(job.algorithm.kind) && adapter->sync == AdapterSync::merged)
    add("algorithm.adapter.sync", fmt::format("{} adapters cannot all be merged into one model", count),
        "write sync: adapter, or count: 1");
  if (generates(job.algorithm.kind) && job.algorithm.prompts < count)
    add("algorithm.adapter.count",
        fmt::format("{} prompts a step are fewer than the {} adapters that they are shared among",
                    job.algorithm.prompts, count),
        fmt::format("write count: {} or less, or more prompts", job.algorithm.prompts));
  if (job.algorithm.train_batch < count)
    add("algorithm.adapter.count",
        fmt::format("an optimizer step of {} samples leaves some of the {} adapters without any",
                    job.algorithm.train_batch, count),
        fmt::format("write count: {} or less, or a larger train_batch", job.algorithm.train_batch));
  return problems;
}

}  // namespace rollcast
