#include "reports/memory_guard.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "models/pools.hpp"
#include "sim/event_log.hpp"

namespace rollcast {
namespace {

// Of a run that serves.
Bytes of_serving(Job const& job, double engines) {
  ServeOptions const& s = *job.serve;
  auto const recorded = static_cast<double>(s.arrivals.trace.size());
  return bytes(512) * std::max<double>(s.requests, recorded) + bytes(320) * s.adapters.count * engines;
}

}  // namespace

Bytes estimate_memory(Job const& job, int steps) {
  // As doubles: the products of a hostile scenario do not fit into int.
  Parallel const& p = job.train.parallel;
  double const gpus = static_cast<double>(total_gpus(job));
  double const samples = static_cast<double>(std::max(job.algorithm.prompts, 1)) * job.algorithm.group_size;
  // Ranks of one stage of a replica and of one engine are one class (sim/placement.hpp).
  double const stage = static_cast<double>(p.tp) * p.cp;
  double const engine = static_cast<double>(job.rollout.parallel.tp) * job.rollout.parallel.pp;
  double const classes = std::min(gpus, gpus / stage + gpus / engine);
  double const classes_of_replica = std::min(stage, stage / engine + 1) * p.pp;
  double const phases = static_cast<double>(job.framework.order.size());
  double const layer_bytes = 12.0 * job.model.hidden * job.model.hidden * 4;
  double const buckets =
      std::max(1.0, job.model.layers * layer_bytes / std::max(job.train.bucket.value, 1.0));
  double const updates =
      std::max(1.0, samples / std::max(job.algorithm.train_batch, 1)) * job.algorithm.epochs;

  double const spans =
      classes * (4 * phases + buckets * updates) + samples * job.algorithm.epochs * classes_of_replica * 8;
  double const counters = samples * 12 + classes * 16 * phases;
  Bytes const log = bytes(spans * sizeof(Span) + counters * sizeof(Counter)) * static_cast<double>(steps);
  Bytes const serving = job.serve ? of_serving(job, gpus / engine) : Bytes{};
  return MiB(64) + KiB(4) * gpus + bytes(512) * samples + log * 6 + serving;
}

std::optional<Bytes> free_memory() {
  std::ifstream in("/proc/meminfo");
  std::string name;
  double kib = 0;
  std::string unit;
  while (in >> name >> kib) {
    std::getline(in, unit);
    if (name == "MemAvailable:") return KiB(kib);
  }
  return std::nullopt;
}

std::string memory_obstacle(Job const& job, int steps) {
  Bytes const need = estimate_memory(job, steps);
  auto const free = free_memory();
  if (!free || need <= *free * kShareOfFreeMemory) return {};
  return fmt::format("the forecast needs about {} of memory, {} are free", format(need), format(*free));
}

}  // namespace rollcast
