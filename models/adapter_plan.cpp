#include "models/adapter_plan.hpp"

#include "models/adapter_memory.hpp"

namespace rollcast {

std::shared_ptr<AdapterPlan const> adapter_plan_of(Job const& job, Profile const& profile) {
  if (!job.serve) return nullptr;
  ServedAdapters const& adapters = job.serve->adapters;
  if (!moves_adapters(adapters)) return nullptr;
  AdapterPlan plan;
  plan.options = adapters;
  plan.order = job.serve->order;
  plan.patience = job.serve->patience;
  plan.kernels = adapter_kernels(profile, job.model, job.rollout, adapters);
  plan.slots = adapter_slots(job).count;
  for (AdapterVariant const& v : adapters.variants) {
    plan.merge.push_back(merge_time(profile, job.model, job.rollout, v));
    plan.pages.push_back(adapter_pages(job.model, job.rollout, adapters, v));
  }
  return std::make_shared<AdapterPlan const>(std::move(plan));
}

}  // namespace rollcast
