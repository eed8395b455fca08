// What a rollout engine must know of the adapters that it serves, as plain numbers.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "models/adapter_kernels.hpp"
#include "models/serve_options.hpp"
#include "models/units.hpp"

namespace rollcast {

// Vectors are by variant.
struct AdapterPlan {
  ServedAdapters options;
  ServeOrder order = ServeOrder::first_come;
  Seconds patience;
  AdapterKernels kernels;
  std::vector<Seconds> merge;       // into the weights, or out of them
  int slots = 0;                    // fixed pool
  std::vector<std::int64_t> pages;  // unified pool: KV pages of an adapter
};

// Of a job that serves. Nothing where the engines compute as if there were no adapters: without them, and
// where each engine has one merged for good.
std::shared_ptr<AdapterPlan const> adapter_plan_of(Job const& job, Profile const& profile);

}  // namespace rollcast
