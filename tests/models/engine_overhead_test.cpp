#include "models/engine_overhead.hpp"

#include <gtest/gtest.h>

#include "models/catalog/catalog.hpp"

namespace rollcast {
namespace {

TEST(EngineOverhead, TextComesBack) {
  std::vector<EngineOverhead> const all = {{EngineKind::trtllm, us(850), us(0), us(46.5), "served points"},
                                           {EngineKind::vllm, us(2000), us(12.5), us(0), ""}};
  std::string const text = to_text(all);
  EXPECT_EQ(text, "engine trtllm 850 0 46.5 # served points\nengine vllm 2000 12.5 0\n");
  auto const back = engine_overheads_from_text(text);
  ASSERT_TRUE(back.value);
  ASSERT_EQ(back.value->size(), 2U);
  EXPECT_EQ(to_text(*back.value), text);
  ASSERT_NE(find_overhead(*back.value, EngineKind::vllm), nullptr);
  EXPECT_NEAR(find_overhead(*back.value, EngineKind::vllm)->per_sequence.value, 12.5e-6, 1e-15);
  EXPECT_EQ(find_overhead(*back.value, EngineKind::sglang), nullptr);
}

TEST(EngineOverhead, SaysWhatIsWrong) {
  EXPECT_EQ(engine_overheads_from_text("engine vllm 1 2\n").error,
            "line 1: wants engine NAME STEP_us PER_SEQUENCE_us LAUNCH_us");
  EXPECT_EQ(engine_overheads_from_text("engine tgi 1 2 3\n").error, "line 1: 'tgi' is no engine");
  EXPECT_EQ(engine_overheads_from_text("engine vllm 1 -2 3\n").error,
            "line 1: wants three times in us, none below 0");
  EXPECT_EQ(engine_overheads_from_text("motor vllm 1 2 3\n").error, "line 1: starts with no 'engine'");
  EXPECT_EQ(engine_overheads_from_text("engine hf 1 2 3\nengine hf 1 2 3\n").error,
            "line 2: hf a second time");
}

// 32 dense layers of 14 launches (models/layer_prices.cpp): 448 launches.
TEST(EngineOverhead, APrefillStepLaunchesEveryLayer) {
  Architecture const* const a = find_architecture(builtin_catalog(), "llama-3.1-8b");
  ASSERT_NE(a, nullptr);
  EngineOverhead o;
  o.launch = us(50);
  EXPECT_NEAR(least_prefill_step(o, *a).value, 448 * 50e-6, 1e-12);
}

}  // namespace
}  // namespace rollcast
