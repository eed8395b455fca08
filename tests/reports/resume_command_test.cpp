// rollcast weights --resume, run in this process with its output captured.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "reports/commands/commands.hpp"
#include "reports/resume_report.hpp"
#include "tests/reports/run_command.hpp"

namespace rollcast {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string const folder = ROLLCAST_SOURCE_DIR "/scenarios/examples/";
std::string const dpo = folder + "dpo-8b-fsdp.yaml";  // 8 ranks
std::string const grpo = folder + "grpo-8b-colocated.yaml";
std::string const lora = folder + "sft-8b-lora-one-gpu.yaml";

CommandRun run(std::vector<std::string> words) {
  words.insert(words.begin(), "weights");
  return run_command(&add_weights_command, std::move(words));
}

// 16 ranks to 8: each reads the whole shards of two. 8,030,261,248 parameters in all.
TEST(ResumeCommand, FewerRanksReadSeveralShards) {
  std::vector<std::string> words = {dpo, "--set", "cluster.nodes=2", "--resume", dpo};
  CommandRun const r = run(words);
  EXPECT_EQ(r.exit_code, 0) << r.err;
  EXPECT_THAT(r.out, StartsWith("dpo-8b-fsdp goes on from a checkpoint of dpo-8b-fsdp: it reads "));
  for (char const* text : {"(1.00 times)", "Written by 16 ranks: tp 1, sharded by rows (FSDP2).",
                           "Read by 8 ranks: tp 1", "ranks 0-7", "saved"})
    EXPECT_THAT(r.out, HasSubstr(text));
  words.insert(words.end(), {"--json", "-"});
  CommandRun const json = run(words);
  nlohmann::json const j = nlohmann::json::parse(json.out);
  EXPECT_EQ(j["written_by_ranks"], 16);
  EXPECT_EQ(j["saved"]["weights"].get<std::int64_t>() % 8'030'261'248, 0);
  EXPECT_EQ(j["read"], j["saved"]);
  EXPECT_EQ(j["other_node_bytes"].get<std::int64_t>() * 2, j["saved"]["total"].get<std::int64_t>());
  EXPECT_EQ(j["readers"][0]["shards"], 2);
  EXPECT_EQ(j["readers"][0]["bytes"]["total"].get<std::int64_t>() * 8,
            j["saved"]["total"].get<std::int64_t>());
  EXPECT_GT(j["seconds"].get<double>(), 0);
  EXPECT_EQ(run(words).out, json.out);
}

TEST(ResumeCommand, TrainersWithoutRolloutAndOfAnotherFramework) {
  EXPECT_EQ(run({lora, "--resume", lora}).exit_code, 0);
  CommandRun const r = run({grpo, "--resume", dpo});
  EXPECT_EQ(r.exit_code, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("Written by 16 ranks: tp 1, pp 2, whole copies on data-parallel ranks."));
}

TEST(ResumeCommand, WeightsAlone) {
  CommandRun const r = run({dpo, "--set", "checkpoint.optimizer=false", "--resume", dpo, "--json", "-"});
  ASSERT_EQ(r.exit_code, 0) << r.err;
  nlohmann::json const j = nlohmann::json::parse(r.out);
  EXPECT_EQ(j["saved"]["optimizer"], 0);
  EXPECT_EQ(j["read"]["weights"], j["read"]["total"]);
}

TEST(ResumeCommand, BadInput) {
  auto const refused = [](std::vector<std::string> words, char const* why) {
    CommandRun const r = run(std::move(words));
    EXPECT_EQ(r.exit_code, 2);
    EXPECT_EQ(r.out, "");
    EXPECT_THAT(r.err, HasSubstr(why));
  };
  refused({dpo, "--resume", "no-such-file.yaml"}, "no-such-file.yaml");
  refused({dpo, "--resume", folder + "grpo-7b-async-two-pools.yaml"},
          "the checkpoint is of llama-3.1-8b, and what resumes is");
  refused({dpo, "--resume", lora}, "what resumes is the adapter of rank 16 on llama-3.1-8b");
  refused({dpo, "--resume", dpo, "--tensor", "q_proj"}, "are of a weight sync");
  refused({dpo, "--resume", dpo, "--flat-parameters"}, "FSDP1, too, saves rows");
  refused({dpo, "--resume", lora, "--json", lora}, "is read, and an output would replace it");
}

}  // namespace
}  // namespace rollcast
