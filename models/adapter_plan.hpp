// What a rollout engine must know of the adapters that it serves, as plain numbers.
#pragma once

#include <cstdint>
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

}  // namespace rollcast
