#include "models/engine_start.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "models/adapter_memory.hpp"
#include "models/engine_limits.hpp"
#include "models/ledger_lines.hpp"
#include "models/state_bytes.hpp"

namespace rollcast {
namespace {

// "; 60 adapter slots of 84 MB take 5.03 GB, at most 47 fit": where they lack what the pages do.
std::string slots_text(Job const& job, EngineLimits const& l, KvBudget const& budget) {
  AdapterSlots const slots = adapter_slots(job);
  if (!(slots.bytes().value > 0) || job.rollout.kv_cache_bytes.value > 0) return {};
  Bytes const sequence = static_cast<double>((l.longest + l.block_size - 1) / l.block_size) * l.page;
  double const most = std::floor((budget.left + slots.bytes() - max(sequence, l.page)) / slots.each);
  std::string const fit = most < 1 ? "none fits" : fmt::format("at most {:.0f} fit", most);
  return fmt::format("; {} adapter slots of {} take {}, {}", slots.count, format(slots.each),
                     format(slots.bytes()), fit);
}

// A fixed pool of too few bytes for one slot.
std::string no_slot(Job const& job) {
  if (!job.serve) return {};
  ServedAdapters const& adapters = job.serve->adapters;
  AdapterSlots const slots = adapter_slots(job);
  bool const fixed = moves_adapters(adapters) && adapters.pool == AdapterPool::fixed;
  if (!fixed || slots.count > 0 || !(slots.each.value > 0)) return {};
  return fmt::format("a slot for adapters takes {}, the pool has {}", format(slots.each),
                     format(adapters.pool_bytes));
}

std::string refusal_of(Job const& job, EngineLimits const& l, KvBudget const& budget) {
  EngineOptions const& e = job.rollout;
  switch (start_problem(l, {budget.free_at_start, budget.asked, budget.left})) {
    case StartProblem::none:
      return {};
    case StartProblem::less_is_free:
      return fmt::format("{} of {} are free, it asks for {} at gpu_memory_utilization {:g}",
                         format(budget.free_at_start), format(job.cluster.node.gpu.visible_memory),
                         format(budget.asked), e.gpu_memory_utilization);
    case StartProblem::no_page:
      return fmt::format(
          "no memory for KV pages at gpu_memory_utilization {:g}, a first page lacks {} ({}){}",
          e.gpu_memory_utilization, format(max(bytes(1), l.page - budget.left)), budget.formula,
          slots_text(job, l, budget));
    case StartProblem::short_of_one_sequence:
      return fmt::format("one sequence may have {} tokens, its KV pages hold {} ({}){}", l.longest,
                         kv_pages_of(l, budget.left) * e.block_size, budget.formula,
                         slots_text(job, l, budget));
    case StartProblem::too_few_slots:
      return fmt::format(
          "{} slots for adapters, samples of {} versions are under way (max_staleness + 1{}): write "
          "rollout.adapter_slots: {}",
          e.adapter_slots, l.slots_needed,
          job.algorithm.adapter->count > 1
              ? fmt::format(" of each of the {} adapters", job.algorithm.adapter->count)
              : "",
          l.slots_needed);
    case StartProblem::no_room_for_adapter:
      return fmt::format("an adapter takes {} KV pages and one sequence of {} tokens {}, there are {} ({})",
                         l.adapter_pages, l.longest, (l.longest + l.block_size - 1) / l.block_size,
                         kv_pages_of(l, budget.left), budget.formula);
  }
  throw std::logic_error("no such StartProblem");
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
  EngineLimits const limits = engine_limits(job);
  EngineStart s;
  s.longest = limits.longest;
  if (e.kind == EngineKind::hf) return s;
  EngineSite const site{job.cluster.node.gpu.visible_memory, held_at_engine_start(job, process),
                        engine_sleeps(job)};
  s.budget = without_slots(kv_budget(job.model, e, site, process), e, adapter_slots(job));
  s.blocks = kv_pages_of(limits, s.budget.left);
  s.refusal = refusal_of(job, limits, s.budget);
  if (s.refusal.empty()) s.refusal = no_slot(job);
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
  bool const beside = engines_here(job) && job.rollout.kind != EngineKind::hf && colocated(job);
  if (!beside || !job.framework.engine_first) return sum;
  sum += process.host_process.value;
  if (engine_sleeps(job) && job.rollout.sleep_level == 1)
    sum += sleeping_copy(job.model, job.rollout) + adapter_slots(job).bytes();
  return sum;
}

}  // namespace rollcast
