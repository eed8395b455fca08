#include "scenarios/check_reliability.hpp"

#include <fmt/format.h>

#include "models/pools.hpp"

namespace rollcast {
namespace {

constexpr double kMostFailures = 20'000;  // of one run: more take longer than a forecast may

}  // namespace

std::vector<Problem> check_reliability(Job const& job) {
  std::vector<Problem> problems;
  auto const add = [&](std::string key, std::string what, std::string remedy) {
    problems.push_back({"", 0, 0, std::move(key), std::move(what), std::move(remedy), ""});
  };
  bool const local = job.checkpoint.storage == CheckpointStorage::local;
  if (local && job.checkpoint.shared_bandwidth.value > 0)
    add("checkpoint.shared_bandwidth", "the storage is each node's own", "remove the key");
  if (!job.reliability) return problems;
  ReliabilityOptions const& r = *job.reliability;
  if (local)
    add("checkpoint.storage", "a node that fails takes its part of the checkpoint with it",
        "write storage: shared, or remove reliability");
  if (r.spares > 0 && !(r.replacement.value > 0))
    add("reliability.spares", "no node is waited for",
        "write replacement: 24 h for example, or remove the key");
  double const failures = r.days * 86'400 * static_cast<double>(total_gpus(job)) / r.mtbf_per_gpu.value;
  if (failures > kMostFailures)
    add("reliability.days",
        fmt::format("the {} GPUs fail {:.3g} times in {:g} days, {:g} are the most", total_gpus(job),
                    failures, r.days, kMostFailures),
        "write fewer days, or a longer mtbf_per_gpu");
  return problems;
}

}  // namespace rollcast
