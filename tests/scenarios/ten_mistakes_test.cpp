// A file with ten mistakes gets ten answers, each at its place.
#include <gtest/gtest.h>

#include "tests/scenarios/example.hpp"

namespace rollcast {
namespace {

constexpr char const* kText =
    "modle: llama-3.1-8b-instruct\n"                                               // 1
    "cluster: {node: hgx-h10, nodes: 2}\n"                                         // 2
    "framework: varl\n"                                                            // 3
    "algorithm: {kind: grpo, prompts: many, group_size: 32, kl_reference: yes}\n"  // 4, 5
    "workload:\n"
    "  prompt_tokens: 127\n"
    "  response_tokens: {lognormal: {mean: 1019, p95: 100}, max: 3969}\n"       // 6
    "train: {trainer: megatron, micro_batch: 0, recompute: ful, bucket: 80}\n"  // 7, 8, 9
    "faults: yes\n"                                                             // 10
    "train: {}\n";                                                              // 11

TEST(TenMistakes, GetAnAnswerEach) {
  ScenarioResult const r = read_scenario_text(kText, "bad.yaml", {});
  EXPECT_FALSE(r.scenario);
  struct Place {
    int line;
    int column;
    std::string key;
  };
  std::vector<Place> const expected = {
      {1, 1, "modle"},
      {2, 17, "cluster.node"},
      {3, 12, "framework"},
      {4, 34, "algorithm.prompts"},
      {4, 70, "algorithm.kl_reference"},
      {7, 39, "workload.response_tokens.lognormal.mean"},
      {8, 41, "train.micro_batch"},
      {8, 55, "train.recompute"},
      {8, 68, "train.bucket"},
      {9, 9, "faults"},
      {10, 1, "train"},
  };
  ASSERT_EQ(r.problems.size(), expected.size()) << format(r.problems);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(r.problems[i].line, expected[i].line) << format(r.problems[i]);
    EXPECT_EQ(r.problems[i].column, expected[i].column) << format(r.problems[i]);
    EXPECT_EQ(r.problems[i].key, expected[i].key);
    EXPECT_EQ(r.problems[i].file, "bad.yaml");
    EXPECT_FALSE(r.problems[i].what.empty());
    EXPECT_FALSE(r.problems[i].remedy.empty());
    EXPECT_FALSE(r.problems[i].source_line.empty());
  }
  EXPECT_EQ(format(r.problems[0]),
            "bad.yaml:1:1: modle: unknown key; did you mean model?\n"
            "  modle: llama-3.1-8b-instruct\n"
            "  ^\n");
}

}  // namespace
}  // namespace rollcast
