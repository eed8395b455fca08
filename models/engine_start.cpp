#include "models/engine_start.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/activations.hpp"
#include "models/engine_versions.hpp"
#include "models/ledger_lines.hpp"
#include "models/state_bytes.hpp"

namespace rollcast {
namespace {

// vLLM asks for room for max_model_len; the others for what comes.
std::int64_t longest_of(Job job) {
  if (job.rollout.kind != EngineKind::vllm) job.rollout.max_model_len = 0;
  return longest_sequence(job);
}

std::int64_t blocks_of(Job const& job, KvBudget const& budget, std::int64_t longest) {
  EngineOptions const& e = job.rollout;
  if (e.kv == KvCache::preallocated)
    return std::int64_t{e.max_num_seqs} * ((longest + e.block_size - 1) / e.block_size);
  return static_cast<std::int64_t>(std::floor(budget.left / kv_page(job.model, e)));
}

std::string refusal_of(EngineOptions const& e, EngineStart const& s, Bytes capacity, Bytes page) {
  if (kv_sizing(e.kind, e.version).start_check && s.budget.free_at_start < s.budget.asked) {
    return fmt::format("{} of {} are free, it asks for {} at gpu_memory_utilization {:g}",
                       format(s.budget.free_at_start), format(capacity), format(s.budget.asked),
                       e.gpu_memory_utilization);
  }
  if (e.kv == KvCache::preallocated) return {};
  if (s.blocks <= 0) {
    return fmt::format("no memory for KV pages at gpu_memory_utilization {:g}, a first page lacks {} ({})",
                       e.gpu_memory_utilization, format(max(bytes(1), page - s.budget.left)),
                       s.budget.formula);
  }
  std::int64_t const tokens = s.blocks * e.block_size;
  if (tokens >= s.longest) return {};
  return fmt::format("one sequence may have {} tokens, its KV pages hold {} ({})", s.longest, tokens,
                     s.budget.formula);
}

// Samples under way keep the adapter that they began with (TRL pull request 7017).
std::string lacking_slots(Job const& job) {
  int const slots = job.rollout.adapter_slots;
  auto const& adapter = job.algorithm.adapter;
  if (slots == 0 || !adapter || adapter->sync != AdapterSync::adapter) return {};
  double staleness = 0;
  if (job.schedule.kind == ScheduleKind::one_step_off) staleness = 1;
  if (job.schedule.kind == ScheduleKind::async) staleness = job.schedule.async.max_staleness;
  int const needed = static_cast<int>(std::ceil(staleness)) + 1;
  if (slots >= needed) return {};
  return fmt::format("{} slots for adapters, samples of {} versions are under way (max_staleness + 1)", slots,
                     needed);
}

Bytes whole_model(Job const& job, Role role) {
  auto const parameters = static_cast<double>(count_parameters(architecture_of(job, role)).total);
  return parameters * size_of(job.train.weights);
}

}  // namespace

Bytes held_at_engine_start(Job const& job, ProcessMemory const& process) {
  if (!colocated(job) || job.framework.engine_first || !holds_models(job)) return Bytes(0);
  Bytes most;
  for (int stage = 0; stage < job.train.parallel.pp; ++stage) {
    Bytes held;
    for (LedgerLine const& line : trainer_lines(job, stage, process)) {
      if (!line.host && !line.from_first_update && is_present(line, Phase::generate)) held += line.bytes;
    }
    most = max(most, held);
  }
  return most;
}

EngineStart engine_start(Job const& job, ProcessMemory const& process) {
  EngineOptions const& e = job.rollout;
  EngineStart s;
  s.longest = longest_of(job);
  if (e.kind == EngineKind::hf) return s;
  EngineSite const site{job.cluster.node.gpu.visible_memory, held_at_engine_start(job, process),
                        engine_sleeps(job)};
  s.budget = kv_budget(job.model, e, site, process);
  s.blocks = blocks_of(job, s.budget, s.longest);
  s.refusal = refusal_of(e, s, site.capacity, kv_page(job.model, e));
  if (s.refusal.empty()) s.refusal = lacking_slots(job);
  return s;
}

std::int64_t kv_blocks(Job const& job) { return engine_start(job).blocks; }

Bytes host_at_load(Job const& job, ProcessMemory const& process) {
  Bytes sum;
  if (holds_models(job)) sum += process.host_process.value;
  for (ModelRole const& r : model_roles(job.algorithm)) {
    bool const whole = job.framework.load_copies > 0 && zero_stage(trainer_of(job, r.role)) < 3;
    if (!whole || r.shares_actor_weights || !runs_here(job, r.role)) continue;
    int const copies = r.trained ? job.framework.load_copies : 1;
    sum += copies * whole_model(job, r.role);
  }
  bool const beside = has_rollout(job.algorithm) && job.rollout.kind != EngineKind::hf && colocated(job);
  if (!beside || !job.framework.engine_first) return sum;
  sum += process.host_process.value;
  if (engine_sleeps(job) && job.rollout.sleep_level == 1) sum += sleeping_copy(job.model, job.rollout);
  return sum;
}

}  // namespace rollcast
