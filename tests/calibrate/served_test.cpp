// Served points: what a point is taken for, the fit of the engine's overhead, and both on real points.
#include "calibrate/served.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>

#include "calibrate/datasheet.hpp"
#include "calibrate/embedded_profiles.hpp"
#include "calibrate/fit_engine.hpp"
#include "calibrate/import/folder.hpp"
#include "calibrate/measured_profile.hpp"
#include "calibrate/split.hpp"
#include "models/catalog/catalog.hpp"
#include "models/kernels.hpp"

namespace rollcast {
namespace {

Profile h100() { return datasheet_profile(*find_gpu(builtin_catalog(), "h100-sxm")); }

Sample served(std::string const& variant, std::vector<double> shape) {
  Sample s;
  s.gpu = "h100-sxm";
  s.operation = "served_tpot";
  s.variant = variant;
  s.dtype = "bf16";
  s.shape = std::move(shape);
  s.seconds = ms(10);
  return s;
}

constexpr char const* kLlama = "trtllm meta-llama/Llama-3.1-8B-Instruct";

TEST(Served, APointIsAnEngineAndALoad) {
  auto const point = served_point(h100(), served(kLlama, {1024, 512, 32, 2, 1, 1}));
  ASSERT_TRUE(point);
  EXPECT_EQ(point->model.name, "llama-3.1-8b");
  EXPECT_EQ(point->engine.parallel.tp, 2);
  EXPECT_EQ(point->engine.max_num_seqs, 31);
  EXPECT_EQ(point->engine.max_num_batched_tokens, 1536);
  EXPECT_EQ(point->load.concurrency, 32);
  EXPECT_EQ(point->load.prompt_tokens, 1024);
  EXPECT_EQ(point->load.response_tokens, 512);
  EXPECT_DOUBLE_EQ(point->kernels.fixed.value, 0);
  EXPECT_DOUBLE_EQ(point->kernels.per_sequence.value, 0);
}

// 128 requests of 4,608 tokens: 590,000 tokens of 131,072 B (32 layers x 8 heads x 128 x 2 x 2 B), 77 GB
// beside 16 GB of weights on a card of 79 GiB: fewer run. On two cards all but one do.
TEST(Served, RunsAsManySequencesAsFindPages) {
  auto const one = served_point(h100(), served(kLlama, {4096, 512, 128, 1, 1, 1}));
  ASSERT_TRUE(one);
  EXPECT_LT(one->engine.max_num_seqs, 77e9 / (4608 * 131072.0) * 0.9);
  EXPECT_GT(one->engine.max_num_seqs, 80);
  EXPECT_EQ(served_point(h100(), served(kLlama, {4096, 512, 128, 2, 1, 1}))->engine.max_num_seqs, 127);
}

TEST(Served, OthersHaveNoPrice) {
  Profile const p = h100();
  std::vector<double> const shape = {1024, 512, 32, 2, 1, 1};
  EXPECT_FALSE(served_point(p, served("vllm meta-llama/Llama-3.1-8B", shape)));
  EXPECT_FALSE(served_point(p, served("trtllm no/such-model", shape)));
  EXPECT_FALSE(served_point(p, served(std::string(kLlama) + " attention dp 2", shape)));
  EXPECT_FALSE(served_point(p, served(kLlama, {1024, 512, 32, 3, 1, 1})));   // 32 heads over 3
  EXPECT_FALSE(served_point(p, served(kLlama, {1024, 512, 32, 16, 1, 1})));  // more than the node has
  Sample s = served(kLlama, shape);
  s.dtype = "fp4";
  EXPECT_FALSE(served_point(p, s));
  s = served(kLlama, shape);
  s.gpu = "b200-sxm";
  EXPECT_FALSE(served_point(p, s));
  s = served(kLlama, shape);
  s.operation = "gemm";
  EXPECT_FALSE(served_point(p, s));
}

// Points made with an overhead of 700 us a step and 40 us a launch give it back, to the last step of the
// search (12.5 and 0.5 us).
TEST(Served, TheFitFindsTheOverheadThatMadeThePoints) {
  Profile const p = h100();
  EngineOverhead truth;
  truth.engine = EngineKind::trtllm;
  truth.step = us(700);
  truth.launch = us(40);
  std::vector<Sample> samples;
  for (double const tp : {1.0, 2.0}) {
    for (double const requests : {8.0, 32.0, 64.0}) {
      for (double const response : {128.0, 512.0}) {
        Sample s = served(kLlama, {1024, response, requests, tp, 1, 1});
        s.seconds = served_times(*served_point(p, s), truth).tpot;
        samples.push_back(s);
      }
    }
  }
  auto const fit = fit_engine(p, samples);
  ASSERT_TRUE(fit);
  EXPECT_NEAR(fit->overhead.step.value, 700e-6, 13e-6);
  EXPECT_NEAR(fit->overhead.launch.value, 40e-6, 0.6e-6);
  EXPECT_EQ(fit->train.rows, 12);
  EXPECT_LT(fit->train.p90, 0.01);
  EXPECT_LT(check_engine(p, fit->overhead, samples).p90, 0.01);
  EXPECT_FALSE(fit_engine(p, {}));
}

// Llama-3.1-8B on H100 served by TRT-LLM: fitted on tp 1 and 2, tested on tp 4 and 8.
TEST(Served, RealPointsAreForeseen) {
  std::string const file = "../shared/data/aiconfigurator/silicon_e2e/silicon_dev.csv";
  std::string const path = std::string(ROLLCAST_SOURCE_DIR) + "/" + file;
  if (!std::filesystem::exists(path)) GTEST_SKIP() << file << " is not there";
  auto const text = embedded_profile_of("h100-sxm");
  if (!text) GTEST_SKIP() << "no measured kernels of h100-sxm are built in";
  Profile p = h100();
  p.kernels = std::make_shared<Kernels const>(*measured_tables_from({*text}).value, p.gpu);
  ImportResult r;
  import_path(path, {}, r);
  ASSERT_TRUE(r.imported.problems.empty());
  std::vector<Sample> train, held_out;
  std::vector<SampleSplit> const splits = split_of(r.imported.samples);
  for (std::size_t i = 0; i < splits.size(); ++i) {
    Sample const& s = r.imported.samples[i];
    if (s.gpu == "h100-sxm") (splits[i] == SampleSplit::train ? train : held_out).push_back(s);
  }
  auto const fit = fit_engine(p, train);
  ASSERT_TRUE(fit);
  Residuals const held = check_engine(p, fit->overhead, held_out);
  EXPECT_EQ(fit->train.rows + held.rows, 89);
  EXPECT_LE(fit->train.p90, 0.08);
  EXPECT_LE(held.median, 0.08);
  EXPECT_LE(held.p90, 0.20);
}

}  // namespace
}  // namespace rollcast
