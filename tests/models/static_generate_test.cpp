#include "models/static_generate.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "models/engine_versions.hpp"
#include "price_fixtures.hpp"

namespace rollcast {
namespace {

constexpr double kBandwidth = 3.35e12;
constexpr double kKvOfToken = 131072;  // Llama-3.1-8B: 2 x 32 layers x 8 heads x 128 x 2 B

EngineOptions hugging_face() {
  EngineOptions e;
  e.kind = EngineKind::hf;
  return e;
}

EngineOverhead host(Seconds launch, Seconds step) {
  EngineOverhead o;
  o.engine = EngineKind::hf;
  o.launch = launch;
  o.step = step;
  return o;
}

class StaticGenerate : public testing::Test {
 protected:
  Seconds token(EngineOverhead const& o, StaticOptions const& options, double batch, double context) {
    return static_token_time(profile_, collectives_, llama_, hugging_face(), o, options, batch, context);
  }
  StaticBatch run(EngineOverhead const& o, StaticOptions const& options,
                  std::vector<StaticSequence> const& sequences) {
    return static_generate(profile_, collectives_, llama_, hugging_face(), o, options, sequences);
  }

  Profile profile_ = round_profile();
  CollectivePrices collectives_{profile_, h100_cluster(1)};
  Architecture llama_ = catalog_model("llama-3.1-8b");
};

// 32 layers x 40 launches of 1 ms, and 10 ms between forwards: 1.29 s a token, prompts too.
TEST_F(StaticGenerate, ABatchRunsUntilItsLongestResponse) {
  StaticBatch const b = run(host(ms(1), ms(10)), {}, {{100, 3}, {50, 5}});
  EXPECT_EQ(b.steps, 5);
  EXPECT_NEAR(b.first_token.value, 1.29, 1e-9);
  EXPECT_NEAR(b.finished[0].value, 3 * 1.29, 1e-9);
  EXPECT_NEAR(b.finished[1].value, 5 * 1.29, 1e-9);
  EXPECT_NEAR(b.end.value, 5 * 1.29, 1e-9);
}

TEST_F(StaticGenerate, RanksThatWaitForEachOtherRunAsLongAsTold) {
  StaticOptions options;
  options.steps = 8;
  StaticBatch const b = run(host(ms(1), ms(10)), options, {{100, 3}});
  EXPECT_NEAR(b.finished[0].value, 3 * 1.29, 1e-9);
  EXPECT_NEAR(b.end.value, 8 * 1.29, 1e-9);
}

TEST_F(StaticGenerate, HooksAreOperationsOfTheHost) {
  StaticOptions options;
  options.hook_operations = 320;
  EXPECT_NEAR(token(host(ms(1), ms(10)), options, 1, 100).value, 1.29 + 0.32, 1e-9);
}

// A position of the cache is read once for attention at 0.7 of the bandwidth, and read and written for its
// copy at 0.5 of it; without the padding copied once more.
TEST_F(StaticGenerate, TheCacheIsCopiedWithEveryToken) {
  double const read = kKvOfToken * 4 / (0.7 * kBandwidth);
  double const copy = 2 * kKvOfToken * 4 / (0.5 * kBandwidth);
  EngineOverhead const none = host(Seconds(0), Seconds(0));
  StaticOptions options;
  EXPECT_NEAR((token(none, options, 4, 2000) - token(none, options, 4, 1000)).value, 1000 * (read + copy),
              1e-12);
  options.unpadded_attention = true;
  EXPECT_NEAR((token(none, options, 4, 2000) - token(none, options, 4, 1000)).value, 1000 * (read + 2 * copy),
              1e-12);
}

// Launches take what the GPU takes at a context of 700: the host is slower below, the GPU above.
TEST_F(StaticGenerate, TheSumOfTokensIsExactWhereTheSlowerOneChanges) {
  EngineOverhead const none = host(Seconds(0), Seconds(0));
  double const middle = token(none, {}, 8, 700).value;
  EngineOverhead const o = host(Seconds(middle / 1280), ms(2));
  StaticBatch const b = run(o, {}, std::vector<StaticSequence>(8, {500, 400}));
  double sum = b.first_token.value;
  for (int t = 1; t < 400; ++t) sum += token(o, {}, 8, 500 + t).value;
  EXPECT_GT(token(o, {}, 8, 899), token(o, {}, 8, 600));
  EXPECT_NEAR(token(o, {}, 8, 600).value, token(o, {}, 8, 501).value, 1e-12);
  EXPECT_NEAR(b.end.value, sum, 1e-9 * sum);
}

TEST_F(StaticGenerate, PromptsArePaddedToOneLength) {
  EngineOverhead const none = host(Seconds(0), Seconds(0));
  StaticBatch const mixed = run(none, {}, {{1000, 10}, {10, 10}});
  StaticBatch const equal = run(none, {}, {{1000, 10}, {1000, 10}});
  EXPECT_EQ(mixed.end.value, equal.end.value);
  EXPECT_EQ(mixed.flops.value, equal.flops.value);
  StaticOptions options;
  options.prompt_length = 1000;
  EXPECT_EQ(run(none, options, {{7, 10}, {10, 10}}).end.value, equal.end.value);
  options.prompt_length = 20;
  EXPECT_EQ(run(none, options, {{1000, 10}, {10, 10}}).end.value, equal.end.value);
}

// 16.06 GB of weights over eight GPUs: 7/8 of them at 0.75 x 450 GB/s are 41.6 ms, longer than anything else.
TEST_F(StaticGenerate, ShardedWeightsAreGatheredForEveryToken) {
  StaticOptions options;
  options.weights = {8, 1, 1};
  double const gathered = 8030261248.0 * 2 * 7 / 8 / (0.75 * 450e9);
  EXPECT_NEAR(token(host(Seconds(0), Seconds(0)), options, 1, 1000).value, gathered, 0.1e-3);
}

// One token of Qwen3-30B-A3B reaches 8 experts of 48 layers: 48 x (24 + 8 x 8); very many reach all 128.
TEST(EagerKernels, MixturesLaunchForEachExpert) {
  EXPECT_EQ(eager_kernels(catalog_model("llama-3.1-8b"), 64), 32 * 40);
  EXPECT_NEAR(eager_kernels(catalog_model("qwen3-30b-a3b"), 1), 48 * 88, 1e-6);
  EXPECT_NEAR(eager_kernels(catalog_model("qwen3-30b-a3b"), 1e4), 48 * (24 + 8 * 128), 1e-6);
}

TEST_F(StaticGenerate, WantsSequencesWithTokens) {
  EngineOverhead const none = host(Seconds(0), Seconds(0));
  EXPECT_THROW(run(none, {}, {}), std::logic_error);
  EXPECT_THROW(run(none, {}, {{0, 1}}), std::logic_error);
  EXPECT_THROW(run(none, {}, {{1, 0}}), std::logic_error);
}

TEST(EngineVersions, EarlyReleasesHaveNumbersOfTheirOwn) {
  EngineOverhead const* const early = overhead_of_version(EngineKind::vllm, "0.3.1");
  ASSERT_NE(early, nullptr);
  EXPECT_EQ(overhead_of_version(EngineKind::vllm, "0.5.3"), early);
  EXPECT_EQ(overhead_of_version(EngineKind::vllm, "0.6"), nullptr);
  EXPECT_EQ(overhead_of_version(EngineKind::vllm, "0.10.2"), nullptr);
  EXPECT_EQ(overhead_of_version(EngineKind::vllm, ""), nullptr);
  EXPECT_EQ(overhead_of_version(EngineKind::vllm, "nightly"), nullptr);
  EXPECT_EQ(overhead_of_version(EngineKind::sglang, "0.3.1"), nullptr);
  ASSERT_NE(overhead_of_version(EngineKind::hf, ""), nullptr);
  // The GPU waits 5 to 13 ms between steps (up to 256 sequences).
  EXPECT_NEAR((early->step + early->per_sequence * 256).value, 13e-3, 0.1e-3);
}

}  // namespace
}  // namespace rollcast
