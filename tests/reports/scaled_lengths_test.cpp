#include "reports/scaled_lengths.hpp"

#include <gtest/gtest.h>

#include "scenarios/scenario.hpp"

namespace rollcast {
namespace {

Lengths read_back(std::string const& text) {
  ScenarioResult const r = read_scenario_text(
      "model: {base: qwen2.5-0.5b-instruct, max_context: 200000}\ncluster: {node: hgx-h100, nodes: "
      "1}\nframework: verl\n"
      "algorithm: {kind: grpo, prompts: 8, group_size: 8}\n"
      "workload: {prompt_tokens: 100, response_tokens: " +
          text + "}\ntrain: {trainer: fsdp2}\nrollout: {engine: vllm}\n",
      "lengths.yaml", {});
  EXPECT_TRUE(r.scenario) << text << (r.problems.empty() ? "" : r.problems.front().what);
  return r.scenario ? r.scenario->job.workload.response_tokens : Lengths{};
}

TEST(ScaledLengths, OneIsTheSame) {
  Lengths const l{LogNormalLength{6.5, 0.75, 4000}, 0, 4000};
  Lengths const back = read_back(scaled_lengths(l, 1));
  EXPECT_DOUBLE_EQ(mean(back, 0), mean(l, 0));
  EXPECT_EQ(longest(back), 4000);
}

// Far below the cut the mean of a log-normal goes with the factor: exp(mu + log 2 + s^2 / 2) = 2 exp(mu + s^2
// / 2).
TEST(ScaledLengths, TwiceTheMeanOfALogNormal) {
  Lengths const l{LogNormalLength{6.5, 0.5, 30000}, 0, 30000};
  EXPECT_NEAR(mean(read_back(scaled_lengths(l, 2)), 0) / mean(l, 0), 2, 1e-5);
}

// The cut stays: 700 x 1.5 = 1,050 becomes 1,000; 100 x 1.5 = 150.
TEST(ScaledLengths, FixedAndEmpiricalAreCutWhereTheyWere) {
  EXPECT_DOUBLE_EQ(mean(read_back(scaled_lengths({FixedLength{700}, 0, 1000}, 1.5)), 0), 1000);
  Lengths const list = read_back(scaled_lengths({EmpiricalLength{{100, 700}, true}, 0, 1000}, 1.5));
  auto const& e = std::get<EmpiricalLength>(list.shape);
  EXPECT_EQ(e.tokens, (std::vector<int>{150, 1000}));
  EXPECT_TRUE(e.in_order);
}

// 1 in 4 is 100 x 3 = 300, 3 in 4 are 200 x 3 = 600: mean 525.
TEST(ScaledLengths, EveryPartOfAMixture) {
  Lengths const l{MixtureLength{{1, 3}, {FixedLength{100}, FixedLength{200}}}, 0, 0};
  EXPECT_DOUBLE_EQ(mean(read_back(scaled_lengths(l, 3)), 0), 525);
}

TEST(ScaledLengths, NeverBelowAToken) {
  EXPECT_DOUBLE_EQ(mean(read_back(scaled_lengths({FixedLength{10}, 0, 0}, 0.01)), 0), 1);
}

}  // namespace
}  // namespace rollcast
