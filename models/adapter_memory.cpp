#include "models/adapter_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/adapter.hpp"
#include "models/engine_layout.hpp"
#include "models/layer_prices.hpp"
#include "models/shard_rect.hpp"
#include "models/sharding.hpp"
#include "models/training.hpp"

namespace rollcast {
namespace {

constexpr double kElement = 2;
constexpr int kMergedAndNext = 2;

// Ranks that cut a tensor of the layer, and its copies on one of them.
struct Share {
  int cut = 1;
  std::int64_t copies = 1;
};

Share share_of(Tensor const& t, EngineOptions const& e) {
  EngineLayout const layout = engine_layout(e);
  if (!t.expert) return {layout.own.tp, t.copies};
  int const ep = layout.experts.ep;
  return {ep > 1 ? 1 : layout.experts.tp, divide_up(t.copies, ep)};
}

// Largest sum over the stages of what of_tensor gives for each target.
template <class OfTensor>
double largest_stage(Architecture const& a, EngineOptions const& e, AdapterVariant const& v,
                     OfTensor of_tensor) {
  Adapter const adapter = as_adapter(v);
  double largest = 0;
  for (Stage const& s : pipeline_stages(a, e.parallel.pp)) {
    double sum = 0;
    for (LayerKind const& kind : layer_kinds(a, s.first_layer, s.layers)) {
      for (Tensor const& t : layer_tensors(a, kind.example)) {
        if (is_target(adapter, t)) sum += kind.count * static_cast<double>(of_tensor(t));
      }
    }
    largest = std::max(largest, sum);
  }
  return largest;
}

// Mean over the adapters of what of_variant gives.
template <class OfVariant>
Bytes mean_over(ServedAdapters const& adapters, OfVariant of_variant) {
  Bytes sum;
  auto const kinds = static_cast<int>(adapters.variants.size());
  for (int v = 0; v < kinds; ++v) {
    int const of_this = adapters.count / kinds + (v < adapters.count % kinds ? 1 : 0);
    if (of_this > 0) sum += of_this * of_variant(adapters.variants[static_cast<std::size_t>(v)]);
  }
  return sum / std::max(1, adapters.count);
}

int slots_wanted(ServedAdapters const& adapters, EngineOptions const& e, Bytes slot) {
  if (adapters.pool_bytes.value > 0) {
    double const most = std::floor(adapters.pool_bytes / slot);
    return static_cast<int>(std::min(most, 1e9));
  }
  if (adapters.slots > 0) return adapters.slots;
  if (adapters.execution == AdapterExecution::merged) return std::min(adapters.count, kMergedAndNext);
  return std::min(adapters.count, e.max_num_seqs);
}

}  // namespace

Adapter as_adapter(AdapterVariant const& v) {
  Adapter a;
  a.rank = v.rank;
  a.targets = v.targets;
  return a;
}

Bytes adapter_bytes(Architecture const& a, AdapterVariant const& v) {
  return bytes(kElement * static_cast<double>(adapter_parameters(as_adapter(v), a)));
}

Bytes adapter_rank_bytes(Architecture const& a, EngineOptions const& e, AdapterVariant const& v,
                         bool fully_sharded) {
  return bytes(kElement * largest_stage(a, e, v, [&](Tensor const& t) {
                 Share const s = share_of(t, e);
                 return s.copies * adapter_shard(t, a, v.rank, s.cut, fully_sharded);
               }));
}

std::int64_t adapter_factors(Architecture const& a, EngineOptions const& e, AdapterVariant const& v) {
  return static_cast<std::int64_t>(
      largest_stage(a, e, v, [&](Tensor const& t) { return 2 * share_of(t, e).copies; }));
}

bool moves_adapters(ServedAdapters const& adapters) {
  return adapters.execution != AdapterExecution::none && adapters.execution != AdapterExecution::deployments;
}

bool in_kv_pages(ServedAdapters const& adapters) {
  return moves_adapters(adapters) && adapters.pool == AdapterPool::unified;
}

AdapterVariant slot_of(ServedAdapters const& adapters) {
  AdapterVariant slot{adapters.max_rank, {}};
  for (AdapterVariant const& v : adapters.variants) {
    if (adapters.max_rank == 0) slot.rank = std::max(slot.rank, v.rank);
    for (std::string const& t : v.targets) {
      if (std::find(slot.targets.begin(), slot.targets.end(), t) == slot.targets.end())
        slot.targets.push_back(t);
    }
  }
  return slot;
}

AdapterSlots adapter_slots(Architecture const& a, EngineOptions const& e, ServedAdapters const& adapters) {
  AdapterSlots slots;
  if (!moves_adapters(adapters) || adapters.pool != AdapterPool::fixed) return slots;
  slots.each = adapter_rank_bytes(a, e, slot_of(adapters), adapters.fully_sharded);
  if (!(slots.each.value > 0)) return slots;
  slots.count = slots_wanted(adapters, e, slots.each);
  Bytes const used = mean_over(
      adapters, [&](AdapterVariant const& v) { return adapter_rank_bytes(a, e, v, adapters.fully_sharded); });
  slots.wasted = slots.count * max(Bytes(0), slots.each - used);
  return slots;
}

int slots_for_versions(Job const& job) {
  auto const& adapter = job.algorithm.adapter;
  if (!adapter || adapter->sync != AdapterSync::adapter) return 0;
  double staleness = 0;
  if (job.schedule.kind == ScheduleKind::one_step_off) staleness = 1;
  if (job.schedule.kind == ScheduleKind::async) staleness = job.schedule.async.max_staleness;
  return (static_cast<int>(std::ceil(staleness)) + 1) * adapter->count;
}

AdapterSlots adapter_slots(Job const& job) {
  if (job.serve) return adapter_slots(job.model, job.rollout, job.serve->adapters);
  AdapterSlots slots;
  int const needed = slots_for_versions(job);
  if (needed == 0 || job.rollout.kind == EngineKind::hf) return slots;
  slots.count = job.rollout.adapter_slots > 0 ? job.rollout.adapter_slots : needed;
  slots.each = adapter_rank_bytes(job.model, job.rollout,
                                  {job.algorithm.adapter->rank, job.algorithm.adapter->targets});
  return slots;
}

KvBudget without_slots(KvBudget budget, EngineOptions const& e, AdapterSlots const& slots) {
  if (e.kv_cache_bytes.value > 0 || !(slots.bytes().value > 0)) return budget;
  budget.left -= slots.bytes();
  budget.formula += fmt::format(" - {} adapter slots {}", slots.count, format(slots.bytes()));
  return budget;
}

std::int64_t adapter_pages(Architecture const& a, EngineOptions const& e, ServedAdapters const& adapters,
                           AdapterVariant const& v) {
  Bytes const page = kv_page(a, e);
  if (!(page.value > 0)) return 0;
  return static_cast<std::int64_t>(std::ceil(adapter_rank_bytes(a, e, v, adapters.fully_sharded) / page));
}

Bytes adapters_on_host(Architecture const& a, ServedAdapters const& adapters) {
  if (!moves_adapters(adapters)) return Bytes(0);
  int const held =
      adapters.host_adapters > 0 ? std::min(adapters.host_adapters, adapters.count) : adapters.count;
  return held * mean_over(adapters, [&](AdapterVariant const& v) { return adapter_bytes(a, v); });
}

}  // namespace rollcast
