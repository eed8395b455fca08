#include "models/engine_adapter.hpp"

#include <gtest/gtest.h>

#include "models/adapter_kernels.hpp"
#include "models/rollout_prices.hpp"
#include "price_fixtures.hpp"

namespace rollcast {
namespace {

TEST(EngineAdapter, EveryStepHasItsKernels) {
  Architecture const a = catalog_model("llama-3.1-8b");
  EngineOptions e;
  e.max_model_len = 4096;
  Adapter adapter;
  adapter.rank = 8;
  adapter.targets = {"q", "v"};
  StepPrices const base = rollout_step_prices(round_profile(), a, e, h100_cluster(1));
  StepPrices const more = with_adapter(base, round_profile(), a, e, adapter);
  ServedAdapters one;
  one.variants = {{8, {"q", "v"}}};
  AdapterKernels const kernels = adapter_kernels(round_profile(), a, e, one);
  for (double const tokens : {1.0, 64.0, 8192.0}) {
    AdapterCounts const all{tokens, 1};
    EXPECT_NEAR(more.dense.at(tokens) - base.dense.at(tokens), adapter_step_time(kernels, {&all, 1}).value,
                1e-9);
  }
}

}  // namespace
}  // namespace rollcast
