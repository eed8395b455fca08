#include "models/engine_adapter.hpp"

#include <gtest/gtest.h>

#include "models/rollout_prices.hpp"
#include "price_fixtures.hpp"

namespace rollcast {
namespace {

Adapter lora(std::vector<std::string> targets) {
  Adapter a;
  a.rank = 8;
  a.targets = std::move(targets);
  return a;
}

// 32 layers x 2 targets x 2 kernels of 14.6 us.
TEST(EngineAdapter, FewTokensPayForTheKernels) {
  Architecture const a = catalog_model("llama-3.1-8b");
  EXPECT_NEAR(adapter_time(round_profile(), a, {}, lora({"q", "v"}), 4).value, 128 * 14.6e-6, 1e-9);
  EXPECT_EQ(adapter_time(round_profile(), a, {}, lora({}), 4).value, 0);
}

// 16,384 tokens through q_proj (4,096 to 4,096) of 32 layers, at half of 3.35 TB/s.
TEST(EngineAdapter, ManyTokensPayForTheirBytes) {
  double const t = 16384;
  double const shrink = 2 * (t * 4096 + 8 * 4096) + 4 * t * 8;
  double const expand = 4 * t * 8 + 2 * (8 * 4096 + 2 * t * 4096);
  EXPECT_NEAR(adapter_time(round_profile(), catalog_model("llama-3.1-8b"), {}, lora({"q"}), t).value,
              32 * (shrink + expand) / (0.5 * 3.35e12), 1e-9);
}

TEST(EngineAdapter, EveryStepHasIt) {
  Architecture const a = catalog_model("llama-3.1-8b");
  EngineOptions e;
  e.max_model_len = 4096;
  Adapter const adapter = lora({"q", "k", "v", "o", "gate", "up", "down"});
  StepPrices const base = rollout_step_prices(round_profile(), a, e, h100_cluster(1));
  StepPrices const more = with_adapter(base, round_profile(), a, e, adapter);
  for (double const tokens : {1.0, 64.0, 8192.0}) {
    EXPECT_NEAR(more.dense.at(tokens) - base.dense.at(tokens),
                adapter_time(round_profile(), a, e, adapter, tokens).value, 1e-12);
  }
}

}  // namespace
}  // namespace rollcast
