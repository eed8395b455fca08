// rollcast import, run in this process with its output captured.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "reports/commands/commands.hpp"
#include "tests/reports/run_command.hpp"

namespace rollcast {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

CommandRun run(std::vector<std::string> words) {
  words.insert(words.begin(), "import");
  return run_command(&add_import_command, std::move(words));
}

std::string data_file(std::string const& name) {
  return std::string(ROLLCAST_SOURCE_DIR) + "/tests/data/import/" + name;
}

TEST(ImportCommand, WritesTheScenarioAndTheListsApart) {
  CommandRun const r = run({"nemo-rl", data_file("nemo_rl_llama31_8b.yaml"), "--node", "hgx-h200"});
  EXPECT_EQ(r.exit_code, 0);
  EXPECT_THAT(r.out, StartsWith("# From nemo_rl_llama31_8b.yaml of nemo-rl"));
  EXPECT_THAT(r.out, HasSubstr("\ncluster: {node: hgx-h200, nodes: 2}\n"));
  EXPECT_THAT(r.err, StartsWith("Assumed:\n"));
  EXPECT_THAT(r.err, HasSubstr("Not used:\n"));
}

TEST(ImportCommand, WritesAFile) {
  std::string const path = testing::TempDir() + "/import_command_test.yaml";
  CommandRun const r = run({"verl", data_file("verl_qwen2_7b.sh"), "--output", path});
  EXPECT_EQ(r.exit_code, 0);
  EXPECT_EQ(r.out, "");
  std::ifstream in(path);
  std::string const text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  EXPECT_THAT(text, HasSubstr("kind: grpo, prompts: 1024"));
  std::filesystem::remove(path);
}

TEST(ImportCommand, TakesACommandWithVariables) {
  CommandRun const r = run({"verl", "--cmd",
                            "python -m verl.trainer.main_ppo actor_rollout_ref.model.path=Qwen/Qwen3-8B "
                            "algorithm.adv_estimator=grpo trainer.nnodes=$N",
                            "--define", "N=4"});
  EXPECT_EQ(r.exit_code, 0);
  EXPECT_THAT(r.out, StartsWith("# From a command of verl"));
  EXPECT_THAT(r.out, HasSubstr("nodes: 4}"));
}

TEST(ImportCommand, RefusesWithTheWayOut) {
  EXPECT_THAT(run({"ver", "x.sh"}).err,
              HasSubstr("no configurations of 'ver' are imported; did you mean verl?"));
  EXPECT_THAT(run({"megatron", "x.sh"}).err, HasSubstr("write verl, openrlhf, trl, slime or nemo-rl"));
  EXPECT_THAT(run({"verl"}).err, HasSubstr("--cmd"));
  EXPECT_THAT(run({"verl", "x.sh", "--cmd", "y"}).err, HasSubstr("not both"));
  EXPECT_THAT(run({"verl", "absent.sh"}).err, HasSubstr("absent.sh: there is no such file"));
  EXPECT_THAT(run({"verl", "x.sh", "--define", "N"}).err, HasSubstr("NAME=VALUE"));
  EXPECT_THAT(run({"trl", data_file("trl_grpo_qwen25_1b.yaml"), "--node", "hgx-h10"}).err,
              HasSubstr("--node hgx-h10: there is no such node in the catalog; did you mean hgx-h100?"));
  for (auto const& words : std::vector<std::vector<std::string>>{
           {"ver", "x.sh"}, {"verl"}, {"verl", "absent.sh"}, {"verl", "--cmd", "ls"}})
    EXPECT_EQ(run(words).exit_code, 2);
  std::string const script = data_file("verl_qwen2_7b.sh");
  EXPECT_EQ(run({"verl", script, "--output", script}).exit_code, 2);
}

TEST(ImportCommand, SaysWhatMustBeChangedByHand) {
  CommandRun const r = run({"trl", "--cmd", "trl sft --model_name_or_path /models/our-own"});
  EXPECT_EQ(r.exit_code, 0);
  EXPECT_THAT(r.err, HasSubstr("The scenario needs a change before it runs:\n"));
}

}  // namespace
}  // namespace rollcast
