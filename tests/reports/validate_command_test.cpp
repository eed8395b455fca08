// rollcast validate on small folders made up here. Simulations run in child processes, so that several are
// possible in one test.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "reports/commands/commands.hpp"
#include "reports/output_file.hpp"
#include "tests/reports/run_command.hpp"
#include "tests/reports/temporary_folder.hpp"

namespace rollcast {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using Json = nlohmann::json;

// A small step on one node: 32 responses of 64 tokens.
std::string scenario(std::string const& trainer, std::string const& measured) {
  return "model: qwen2.5-0.5b\n"
         "cluster: {node: hgx-h100, nodes: 1}\n"
         "framework: nemo-rl\n"
         "algorithm: {kind: grpo, prompts: 8, group_size: 4, train_batch: 32, kl_reference: true}\n"
         "workload: {prompt_tokens: 16, response_tokens: 64}\n"
         "train: {" +
         trainer +
         ", micro_batch: 1, logprob_micro_batch: 1}\n"
         "rollout: {engine: vllm, parallel: {tp: 1}, gpu_memory_utilization: 0.6}\n"
         "schedule: synchronous\n" +
         measured;
}

std::string const kMegatron = "trainer: megatron";
std::string const kWide = "trainer: megatron, parallel: {tp: 2}";
std::string const kOffload = "trainer: fsdp2, offload: {parameters: true}";

std::string measured(std::string const& source, std::string const& figures) {
  return "measured: {source: " + source + ", grade: A, " + figures + "}\n";
}

class ValidateCommand : public testing::Test {
 protected:
  std::string path(std::string const& name) const { return folder_.path(name); }
  void write(std::string const& name, std::string const& text) const {
    ASSERT_EQ(write_file(path(name), text), "");
  }
  CommandRun run(std::vector<std::string> options = {}) const {
    std::vector<std::string> words = {"validate", folder_.root().string()};
    words.insert(words.end(), options.begin(), options.end());
    return run_command(&add_validate_command, words);
  }
  Json json(int exit_code = 0) const {
    CommandRun const r = run({"--json", "-"});
    EXPECT_EQ(r.exit_code, exit_code) << r.err;
    return Json::parse(r.out);
  }

  TemporaryFolder folder_;
};

std::vector<std::string> rows(Json const& j) {
  std::vector<std::string> out;
  for (Json const& c : j["cases"])
    out.push_back(c["case"].get<std::string>() + ' ' +
                  (c["quantity"].is_null() ? "-" : c["quantity"].get<std::string>()));
  return out;
}

TEST_F(ValidateCommand, ForecastsEveryFileByName) {
  write("b.yaml", scenario(kMegatron, measured("x", "step_seconds: 10, generate_seconds: 4")));
  write("a-2.yml", scenario(kMegatron, measured("y", "tokens_per_second_per_gpu: 100")));
  write("a.yaml", scenario(kMegatron, measured("y", "step_seconds: 10")));
  write("idea.yaml", scenario(kMegatron, ""));
  write("notes.txt", "no scenario");
  fs::create_directory(folder_.root() / "below");
  write("below/c.yaml", scenario(kMegatron, measured("x", "step_seconds: 10")));
  fs::create_directory(folder_.root() / "folder.yaml");
  Json const j = json();
  EXPECT_EQ(rows(j), (std::vector<std::string>{"a step_seconds", "a-2 tokens_per_second_per_gpu",
                                               "b step_seconds", "b phase.generate"}));
  for (Json const& c : j["cases"]) {
    ASSERT_TRUE(c["predicted"].is_number()) << c;
    double const predicted = c["predicted"].get<double>();
    EXPECT_GT(predicted, 0);
    EXPECT_NEAR(c["error"].get<double>(), predicted / c["measured"].get<double>() - 1, 1e-7);
    EXPECT_TRUE(c["reason"].is_null());
    EXPECT_FALSE(c["fitted"].get<bool>());
  }
  EXPECT_EQ(j["cases"][0]["source"], "y");
  EXPECT_EQ(j["cases"][0]["grade"], "A");
  EXPECT_EQ(j["not_measured"], Json({"idea"}));
}

TEST_F(ValidateCommand, IsTheSameEveryTime) {
  write("a.yaml", scenario(kMegatron, measured("x", "step_seconds: 10")));
  EXPECT_EQ(run({"--json", "-"}).out, run({"--json", "-"}).out);
}

TEST_F(ValidateCommand, WhatHasNoForecastSaysWhy) {
  write("offload.yaml", scenario(kOffload, measured("x", "step_seconds: 10, generate_seconds: 4")));
  write("other.yaml", scenario(kMegatron, measured("x", "update_critic_seconds: 3")));
  std::string small = scenario(kMegatron, measured("x", "step_seconds: 10"));
  write("refused.yaml", small.replace(small.find("0.6"), 3, "0.01"));
  Json const j = json();
  EXPECT_EQ(rows(j), (std::vector<std::string>{"offload step_seconds", "offload phase.generate",
                                               "other phase.update_critic", "refused step_seconds"}));
  for (Json const& c : j["cases"]) {
    EXPECT_TRUE(c["predicted"].is_null()) << c;
    EXPECT_TRUE(c["error"].is_null());
  }
  EXPECT_EQ(j["cases"][0]["reason"],
            "train.offload.parameters: training with parameters in host memory is not simulated yet");
  EXPECT_EQ(j["cases"][1]["reason"],
            "train.offload.parameters: training with parameters in host memory is not simulated yet");
  EXPECT_EQ(j["cases"][2]["reason"], "the run does not tell it");
  EXPECT_THAT(j["cases"][3]["reason"].get<std::string>(), HasSubstr("refused"));
  EXPECT_THAT(run().out, HasSubstr("training with parameters in host memory is not simulated yet"));
}

TEST_F(ValidateCommand, AFileThatIsNoScenarioIsARowAndBadInput) {
  write("a.yaml", scenario(kMegatron, measured("x", "step_seconds: 10")));
  write("b.yaml", scenario("trainer: megatorn, packing: maybe", measured("x", "step_seconds: 10")));
  Json const j = json(2);
  EXPECT_EQ(rows(j), (std::vector<std::string>{"a step_seconds", "b -"}));
  std::string const reason = j["cases"][1]["reason"].get<std::string>();
  EXPECT_THAT(reason, HasSubstr("line 6: train.trainer: "));
  EXPECT_THAT(reason, HasSubstr("(and 1 more)"));
  CommandRun const text = run();
  EXPECT_EQ(text.exit_code, 2);
  EXPECT_THAT(text.out, HasSubstr("not read: "));
  EXPECT_THAT(text.err, HasSubstr("train.packing"));
}

// The ratio of a pair is that of the two rows.
TEST_F(ValidateCommand, LayoutsOfOneSourceArePairs) {
  write("narrow.yaml", scenario(kMegatron, measured("x", "step_seconds: 10")));
  write("wide.yaml", scenario(kWide, measured("x", "step_seconds: 12")));
  write("other.yaml", scenario(kWide, measured("y", "step_seconds: 30")));
  Json const j = json();
  ASSERT_EQ(j["pairs"].size(), 1U);
  Json const& p = j["pairs"][0];
  EXPECT_EQ(p["a"], "narrow");
  EXPECT_EQ(p["b"], "wide");
  EXPECT_NEAR(p["measured_ratio"].get<double>(), 10.0 / 12, 1e-8);
  double const narrow = j["cases"][0]["predicted"].get<double>();
  double const wide = j["cases"][2]["predicted"].get<double>();
  EXPECT_NEAR(p["predicted_ratio"].get<double>(), narrow / wide, 1e-7);
  EXPECT_EQ(p["agrees"].get<bool>(), narrow < wide);
}

// I07 without I07: 2.0 ms and 0 us in place of 1.5 ms and 20 us; four responses at a time take longer so.
TEST_F(ValidateCommand, AFittedCaseIsMarkedAndForecastWithoutItself) {
  write("I07-x.yaml", scenario(kMegatron, measured("x", "generate_seconds: 1, score_seconds: 1")));
  Json const j = json();
  EXPECT_TRUE(j["cases"][0]["fitted"].get<bool>());
  EXPECT_GT(j["cases"][0]["left_out_error"].get<double>(), j["cases"][0]["error"].get<double>());
  EXPECT_EQ(j["cases"][1]["left_out_error"], j["cases"][1]["error"]);  // scoring has no engine in it
}

TEST_F(ValidateCommand, AnExpectedOutcomeIsChecked) {
  write("good.yaml", scenario(kMegatron, "expected: {outcome: completed}\n"));
  CommandRun const good = run({"--fail-on-unmet"});
  EXPECT_EQ(good.exit_code, 0) << good.err;
  EXPECT_THAT(good.out, HasSubstr("1 of 1 expected outcomes hold"));
  write("wrong.yaml", scenario(kMegatron, "expected: {outcome: oom, kind: host}\n"));
  EXPECT_EQ(run().exit_code, 0);
  CommandRun const wrong = run({"--fail-on-unmet"});
  EXPECT_EQ(wrong.exit_code, 3);
  EXPECT_THAT(wrong.out, HasSubstr("outcome: expected oom, got completed"));
  EXPECT_THAT(wrong.out, HasSubstr("1 of 2 expected outcomes hold"));
}

// What tells of an out-of-memory has no place beside another outcome.
TEST_F(ValidateCommand, AnExpectationMustFitItsOutcome) {
  write("odd.yaml", scenario(kMegatron, "expected: {outcome: completed, phase: wake}\n"));
  CommandRun const r = run();
  EXPECT_EQ(r.exit_code, 2);
  EXPECT_THAT(r.err, HasSubstr("expected.phase"));
}

TEST_F(ValidateCommand, NothingToValidateIsBadInput) {
  CommandRun const none = run();
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.err, HasSubstr("holds no scenario (*.yaml, *.yml) with measured values"));
  CommandRun const missing = run_command(&add_validate_command, {"validate", path("missing")});
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_THAT(missing.err, HasSubstr("is no folder that can be listed"));
}

TEST_F(ValidateCommand, AnOutputNeverReplacesAScenario) {
  std::string const text = scenario(kMegatron, measured("x", "step_seconds: 10"));
  write("a.yaml", text);
  CommandRun const r = run({"--json", path("a.yaml")});
  EXPECT_EQ(r.exit_code, 2);
  EXPECT_THAT(r.err, HasSubstr("is read, and an output would replace it"));
}

// Every published scenario is read, has a source and a grade, and a forecast or the reason why it has none:
// an option that is not simulated yet, a figure that a run does not tell, or how the run ends.
TEST(PublishedScenarios, AreForecastOrSayWhy) {
  CommandRun const r = run_command(&add_validate_command,
                                   {"validate", ROLLCAST_SOURCE_DIR "/scenarios/published", "--json", "-"});
  EXPECT_EQ(r.exit_code, 0) << r.err;
  Json const j = Json::parse(r.out);
  for (Json const& c : j["cases"]) {
    EXPECT_FALSE(c["source"].get<std::string>().empty()) << c;
    EXPECT_FALSE(c["grade"].get<std::string>().empty()) << c;
    if (!c["predicted"].is_null()) continue;
    std::string const reason = c["reason"].get<std::string>();
    EXPECT_TRUE(reason.find("not simulated") != std::string::npos || reason == "the run does not tell it" ||
                reason.starts_with("oom: ") || reason.starts_with("refused: "))
        << c;
  }
  EXPECT_TRUE(j["not_measured"].empty());
}

// As many draws as asked for stand behind each forecast, and the bands are the same every time.
TEST_F(ValidateCommand, CountsHowOftenDrawsHoldTheMeasuredValue) {
  write("a.yaml", scenario(kMegatron, measured("x", "step_seconds: 10")));
  CommandRun const r = run({"--draws", "9", "--json", "-"});
  ASSERT_EQ(r.exit_code, 0) << r.err;
  Json const j = Json::parse(r.out);
  Json const& band = j["cases"][0]["draws"];
  EXPECT_LT(band["p10"], band["p50"]);
  EXPECT_LT(band["p50"], band["p90"]);
  EXPECT_EQ(j["coverage"][0]["values"], 1);
  EXPECT_EQ(j["coverage"][0]["draws"]["share"], 0);  // 10 s it does not take
  EXPECT_EQ(run({"--draws", "9", "--json", "-"}).out, r.out);
  EXPECT_FALSE(json().contains("coverage"));
}

}  // namespace
}  // namespace rollcast
