// rollcast compare on small scenarios made up here, and on the published pair of R10. Simulations run in
// child processes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cmath>
#include <cstdio>
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
using testing::StartsWith;
using Json = nlohmann::json;

constexpr char const* kSmall =
    "model: qwen2.5-0.5b\n"
    "cluster: {node: hgx-h100, nodes: 1}\n"
    "framework: nemo-rl\n"
    "algorithm: {kind: grpo, prompts: 8, group_size: 4, train_batch: 32, kl_reference: true}\n"
    "workload: {prompt_tokens: 16, response_tokens: {lognormal: {mean: 100, p95: 250}, max: 400}}\n"
    "train: {trainer: megatron, micro_batch: 1, logprob_micro_batch: 1}\n"
    "rollout: {engine: vllm, parallel: {tp: 1}, gpu_memory_utilization: 0.6}\n"
    "schedule: synchronous\n";

class CompareCommand : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(write_file(small(), kSmall), ""); }

  std::string small() const { return folder_.path("small.yaml"); }
  CommandRun run(std::vector<std::string> const& options) const {
    std::vector<std::string> words = {"compare"};
    words.insert(words.end(), options.begin(), options.end());
    return run_command(&add_compare_command, words);
  }
  Json json(std::vector<std::string> options) const {
    options.insert(options.end(), {"--steps", "1", "--json", "-"});
    CommandRun const r = run(options);
    EXPECT_EQ(r.exit_code, 0) << r.err;
    return Json::parse(r.out);
  }
  // The program's exit code, and what it prints on both streams.
  std::pair<int, std::string> program(std::string const& arguments) const {
    std::string const command =
        "cd '" + folder_.root().string() + "' && '" ROLLCAST_PROGRAM "' compare " + arguments + " 2>&1";
    std::FILE* const pipe = ::popen(command.c_str(), "r");
    std::string text;
    for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) text += static_cast<char>(c);
    return {WEXITSTATUS(::pclose(pipe)), text};
  }

  TemporaryFolder folder_;
};

TEST_F(CompareCommand, TheSameTwiceIsNoDifference) {
  Json const j = json({small(), small(), "--seeds", "3"});
  EXPECT_THAT(j["verdict"].get<std::string>(),
              StartsWith("There is no difference that we can tell between small and small (2)"));
  EXPECT_EQ(j["winners"][0]["ratio"], 1);
  EXPECT_FALSE(j["winners"][0]["decided"].get<bool>());
  EXPECT_EQ(j["unit"], "sample");
  EXPECT_TRUE(j["warnings"].empty());
}

TEST_F(CompareCommand, NamesTheFasterOneAndWhy) {
  Json const j = json({small(), "--with", "train.parallel.tp=2", "--seeds", "3"});
  Json const& winner = j["winners"][0];
  ASSERT_TRUE(winner["decided"].get<bool>()) << j["verdict"];
  EXPECT_GT(winner["low"].get<double>(), 1);
  EXPECT_LT(winner["low"].get<double>(), winner["ratio"].get<double>());
  EXPECT_THAT(j["verdict"].get<std::string>(), HasSubstr("): per step, it "));
  // The differences of the paths are at most the difference of the steps, but for those too small to tell.
  Json const& a = j["contenders"][0];
  Json const& b = j["contenders"][1];
  double const steps = std::abs(a["step_seconds_mean"].get<double>() - b["step_seconds_mean"].get<double>());
  double paths = 0;
  for (Json const& d : j["why"]) paths += d["saved_seconds"].get<double>();
  EXPECT_NEAR(paths, steps, 0.1 * a["step_seconds_mean"].get<double>());
}

// The same draw for both: the same scenario twice is exactly as fast in every draw.
TEST_F(CompareCommand, DrawsArePaired) {
  Json const j = json({small(), small(), "--seeds", "2", "--draws", "9"});
  EXPECT_EQ(j["draws"]["completed"], 9);
  EXPECT_EQ(j["draws"]["ratio_p10"], 1);
  EXPECT_EQ(j["draws"]["ratio_p90"], 1);
  EXPECT_EQ(j["draws"]["faster"], 0);
  Json const other = json({small(), "--with", "train.parallel.tp=2", "--seeds", "2", "--draws", "9"});
  EXPECT_LT(other["draws"]["ratio_p10"].get<double>(), other["draws"]["ratio_p90"].get<double>());
}

TEST_F(CompareCommand, ThoseThatCannotRunCannotWin) {
  Json const j = json({small(), "--seeds", "2", "--with", "cluster.node.gpu.visible_memory=5 GiB", "--with",
                       "train.parallel.tp=3", "--with", "train.micro_batch=2"});
  Json const& all = j["contenders"];
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[1]["outcome"], "oom");
  EXPECT_THAT(all[1]["reason"].get<std::string>(), HasSubstr("runs out of memory"));
  EXPECT_LT(all[1]["pools"][0]["headroom_bytes"].get<double>(), 0);
  EXPECT_TRUE(all[1]["speed_of_best"].is_null());
  EXPECT_EQ(all[2]["outcome"], "infeasible");
  EXPECT_THAT(all[2]["reason"].get<std::string>(), StartsWith("train.parallel.tp: 3 ranks do not divide"));
  EXPECT_TRUE(all[2]["pools"].empty());
  EXPECT_EQ(all[2]["completed_seeds"], 0);
  for (Json const& w : j["winners"]) {
    EXPECT_NE(w["contender"], all[1]["name"]);
    EXPECT_NE(w["next"], all[2]["name"]);
  }
  Json const alone = json({small(), "--seeds", "2", "--with", "train.parallel.tp=3"});
  EXPECT_THAT(alone["verdict"].get<std::string>(), StartsWith("Only small can run; train.parallel.tp=3: "));
}

// 8 x 2.1 $ an hour for the mean step; 500 of them.
TEST_F(CompareCommand, PricesAStepAndARun) {
  Json const j = json({small(), "--seeds", "1", "--with", "cluster.nodes=2,train.micro_batch=2", "--price",
                       "h100-sxm=2.1", "--run-steps", "500"});
  Json const& a = j["contenders"][0];
  double const step = a["step_seconds_mean"].get<double>();
  EXPECT_NEAR(a["dollars_per_step"].get<double>(), 8 * 2.1 * step / 3600, 1e-8);
  EXPECT_NEAR(a["dollars_per_run"].get<double>(), 500 * 8 * 2.1 * step / 3600, 1e-6);
  EXPECT_NEAR(a["gpu_hours_per_run"].get<double>(), 500 * 8 * step / 3600, 1e-6);
  EXPECT_TRUE(j["winners"][0]["low"].is_null());
  EXPECT_THAT(j["cost_verdict"].get<std::string>(), HasSubstr("By the GPU-hour, small does "));
  // Of the catalog otherwise; of a scenario's own GPU before that.
  Json const own = json({small(), "--seeds", "1", "--with", "cluster.node.gpu.dollars_per_hour=1"});
  Json const& dear = own["contenders"][0];
  Json const& cheap = own["contenders"][1];
  EXPECT_GT(dear["dollars_per_step"].get<double>(), cheap["dollars_per_step"].get<double>());
  EXPECT_EQ(own["winners"][2]["contender"], cheap["name"]);
}

TEST_F(CompareCommand, OtherWorkIsComparedByTokens) {
  Json const j = json({small(), "--seeds", "2", "--with", "workload.prompt_tokens=200"});
  EXPECT_EQ(j["unit"], "token");
  EXPECT_THAT(j["warnings"][0].get<std::string>(), HasSubstr("do not do the same work"));
  EXPECT_THAT(j["verdict"].get<std::string>(), HasSubstr(" per token"));
}

// Colocated R10 against its asynchronous pair; the first line of the text is the verdict.
TEST_F(CompareCommand, ComparesThePublishedPair) {
  std::string const published = ROLLCAST_SOURCE_DIR "/scenarios/published/";
  CommandRun const r =
      run({published + "R10-verl-7b-colocated.yaml", published + "R10-verl-7b-fully-async-32-32.yaml",
           "--steps", "2", "--seeds", "2"});
  EXPECT_EQ(r.exit_code, 0) << r.err;
  EXPECT_THAT(r.out, StartsWith("R10-verl-7b-fully-async-32-32 is "));
  EXPECT_THAT(r.out, HasSubstr("hides the actor's update"));
  EXPECT_THAT(r.out, HasSubstr("margin to out-of-memory"));
}

TEST_F(CompareCommand, IsTheSameEveryTime) {
  std::vector<std::string> const words = {small(),   "--with", "train.micro_batch=2", "--seeds", "4",
                                          "--steps", "1"};
  for (char const* output : {"--json", "--csv"}) {
    std::vector<std::string> all = words;
    all.insert(all.end(), {output, "-"});
    EXPECT_EQ(run(all).out, run(all).out);
  }
}

TEST_F(CompareCommand, MisuseIsAnsweredInOneLine) {
  for (auto const& [arguments, message] : std::vector<std::pair<std::string, std::string>>{
           {"small.yaml", "one contender is no comparison; give a second FILE or --with KEY=VALUE,..."},
           {"small.yaml nowhere.yaml", "nowhere.yaml: there is no such file; check the path"},
           {"small.yaml small.yaml --with a=1", "--with makes variants of one FILE"},
           {"small.yaml small.yaml --seeds 0", "'0' is not a whole number from 1 to 1000"},
           {"small.yaml small.yaml --seeds many", "'many' is not a whole number"},
           {"small.yaml --with train.micro_bach=2", "train.micro_bach: unknown key; did you mean"},
           {"small.yaml --with tp", "'tp' of 'tp' is not KEY=VALUE"},
           {"small.yaml small.yaml --price h100-sxm", "'h100-sxm' is no rent; write GPU=DOLLARS per hour"},
           {"small.yaml small.yaml --price l40s=1", "--price: no contender has the GPU l40s"},
           {"small.yaml small.yaml --json small.yaml", "is read, and an output would replace it"},
           {"", "FILE is missing"}}) {
    auto const [code, text] = program(arguments);
    EXPECT_EQ(code, 2) << arguments;
    EXPECT_THAT(text, HasSubstr(message));
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
  }
}

// A mistake in all of them is told as `run` tells it.
TEST_F(CompareCommand, AProblemOfAllIsToldInFull) {
  auto const [code, text] = program("small.yaml small.yaml --set train.nonsense=1");
  EXPECT_EQ(code, 2);
  EXPECT_THAT(text, HasSubstr("train.nonsense"));
  EXPECT_THAT(text, HasSubstr("unknown key"));
}

}  // namespace
}  // namespace rollcast
