#include "calibrate/layers.hpp"

#include <gtest/gtest.h>

#include <map>

#include "calibrate/check.hpp"

namespace rollcast {
namespace {

// Llama-3.1-8B on one of two ranks: 16 heads and 4 KV heads of 128, 7,168 inner.
Sample layer(std::string const& operation, std::string const& variant, double tokens) {
  Sample s;
  s.gpu = "h100-sxm";
  s.operation = operation;
  s.variant = variant;
  s.dtype = "bf16";
  s.shape = {tokens, 4096, 32, 8, 128, 14336, 2};
  s.seconds = us(100);
  return s;
}

double product_sizes(std::vector<Sample> const& parts) {
  double sum = 0;
  for (Sample const& s : parts) {
    if (s.operation == "gemm") sum += s.shape[0] * s.shape[1] * s.shape[2];
  }
  return sum;
}

// (16 + 2 x 4) x 128 x 4096 + 4096 x 2048 + 3 x 7168 x 4096 = 109,051,904 per token, however it is cut.
TEST(Layers, ProductsAreTheSameFusedAndApart) {
  std::vector<Sample> const fused = parts_of_layer(layer("layer_gemm", "fused", 64));
  std::vector<Sample> const apart = parts_of_layer(layer("layer_gemm", "apart", 64));
  EXPECT_EQ(fused.size(), 4U);
  EXPECT_EQ(apart.size(), 7U);
  EXPECT_DOUBLE_EQ(product_sizes(fused), 64.0 * 109051904);
  EXPECT_DOUBLE_EQ(product_sizes(apart), 64.0 * 109051904);
  for (Sample const& s : fused) EXPECT_EQ(s.variant, "sustained");
  EXPECT_TRUE(parts_of_layer(layer("layer_gemm", "other", 64)).empty());
  EXPECT_TRUE(parts_of_layer(layer("gemm", "fused", 64)).empty());
}

TEST(Layers, AWholeLayerHasItsPasses) {
  auto const count = [](std::string const& variant) {
    std::map<std::string, int> seen;
    for (Sample const& s : parts_of_layer(layer("layer", variant, 64)))
      ++seen[s.operation == "memory_pass" ? s.variant : s.operation];
    return seen;
  };
  EXPECT_EQ(count("fused"), (std::map<std::string, int>{
                                {"gemm", 4}, {"norm", 2}, {"rope", 1}, {"activation", 1}, {"add", 2}}));
  EXPECT_EQ(count("apart"),
            (std::map<std::string, int>{
                {"gemm", 7}, {"norm", 2}, {"rope", 1}, {"activation", 1}, {"attention_prefill", 1}}));
}

// Each product 20 us: 80 us against 100 measured. A layer without a price for its passes has none.
TEST(Layers, TheCheckSumsThePartsAndTellsTheRangesOfTokens) {
  std::vector<Predictor> list = {
      {"gemm", [](Sample const&) -> std::optional<Seconds> { return us(20); }, {}}};
  add_layer_predictors(list);
  CheckResult const r = check_samples(
      {{"h100-sxm", list}},
      {layer("layer_gemm", "fused", 128), layer("layer_gemm", "fused", 129), layer("layer", "fused", 64)});
  std::vector<std::string> seen;
  for (Check const& c : r.checks) {
    seen.push_back(c.operation + " " + std::string(name_of(c.range)) + " " + std::to_string(c.rows));
    EXPECT_NEAR(c.bias, c.rows > 0 ? -0.2 : 0, 1e-12);
  }
  EXPECT_EQ(seen,
            (std::vector<std::string>{"layer_gemm  2", "layer_gemm 1-128 tokens 1",
                                      "layer_gemm 129-1024 tokens 1", "layer  0", "layer 1-128 tokens 0"}));
}

}  // namespace
}  // namespace rollcast
