#include "models/engine_adapter.hpp"

#include <cstddef>

#include "models/adapter_kernels.hpp"

namespace rollcast {
namespace {

AdapterKernels kernels_of(Profile const& p, Architecture const& a, EngineOptions const& e,
                          Adapter const& adapter) {
  ServedAdapters one;
  one.variants = {{adapter.rank, adapter.targets}};
  return adapter_kernels(p, a, e, one);
}

}  // namespace

StepPrices with_adapter(StepPrices prices, Profile const& p, Architecture const& a, EngineOptions const& e,
                        Adapter const& adapter) {
  AdapterKernels const kernels = kernels_of(p, a, e, adapter);
  for (std::size_t i = 0; i < prices.dense.x.size(); ++i) {
    AdapterCounts const all{prices.dense.x[i], 1};
    prices.dense.y[i] += adapter_step_time(kernels, {&all, 1}).value;
  }
  return prices;
}

Seconds adapter_launches(Profile const& p, Architecture const& a, EngineOptions const& e,
                         Adapter const& adapter) {
  return adapter_host_time(kernels_of(p, a, e, adapter));
}

}  // namespace rollcast
