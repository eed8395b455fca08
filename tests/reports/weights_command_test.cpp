// rollcast weights, run in this process with its output captured.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "reports/commands/commands.hpp"
#include "reports/weights_report.hpp"
#include "tests/reports/run_command.hpp"

namespace rollcast {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string const folder = ROLLCAST_SOURCE_DIR "/scenarios/";
std::string const example = folder + "examples/grpo-8b-colocated.yaml";

CommandRun run(std::vector<std::string> words) {
  words.insert(words.begin(), "weights");
  return run_command(&add_weights_command, std::move(words));
}

nlohmann::json json(std::vector<std::string> words) {
  words.insert(words.end(), {"--json", "-"});
  CommandRun const r = run(std::move(words));
  EXPECT_EQ(r.exit_code, 0) << r.err;
  return nlohmann::json::parse(r.out);
}

TEST(WeightsCommand, TheExample) {
  CommandRun const r = run({example});
  EXPECT_EQ(r.exit_code, 0);
  EXPECT_EQ(r.err, "");
  EXPECT_THAT(r.out, StartsWith("One sync moves "));
  for (char const* text :
       {"291 tensors", "16 engines of tp 1, on the same GPUs", "node 1 to 0", "ranks 0-7",
        "layers.0.self_attn.qkv_proj.weight from layers.0.self_attn.linear_qkv.weight",
        "rank 0 <- train rank 0", "q heads 0-31; k heads 0-7; v heads 0-7", "The wire alone"}) {
    EXPECT_THAT(r.out, HasSubstr(text));
  }
}

// 32 heads and 8 KV heads over tp 4: 8 and 2 a rank.
TEST(WeightsCommand, HeadsOfEveryRank) {
  CommandRun const r = run({example, "--set", "rollout.parallel.tp=4", "--tensor", "qkv_proj"});
  EXPECT_THAT(
      r.out,
      HasSubstr(
          "rank 3 <- train rank 3 (12.0 MiB, on the same GPU): q heads 24-31; k heads 6-7; v heads 6-7"));
  EXPECT_EQ(r.out.find("gate_up_proj"), std::string::npos);
}

// What is sent is received; every rank group and pair of nodes adds up to the totals.
TEST(WeightsCommand, JsonAddsUp) {
  for (std::string const& file : {example, folder + "examples/grpo-7b-async-two-pools.yaml",
                                  folder + "examples/ppo-8b-critic-apart.yaml",
                                  folder + "published/R03-nemo-rl-30b-a3b-four-nodes.yaml",
                                  folder + "published/R05-nemo-rl-deepseek-v3-one-step-off.yaml"}) {
    nlohmann::json const j = json({file});
    for (char const* link : {"same_gpu", "node", "network", "total"}) {
      std::int64_t sent = 0, received = 0;
      for (auto const& g : j["sent"])
        sent += g["bytes"][link].get<std::int64_t>() * static_cast<std::int64_t>(g["ranks"].size());
      for (auto const& g : j["received"])
        received += g["bytes"][link].get<std::int64_t>() * static_cast<std::int64_t>(g["ranks"].size());
      EXPECT_EQ(sent, j["bytes"][link]) << file << " " << link;
      EXPECT_EQ(received, j["bytes"][link]) << file << " " << link;
    }
    std::int64_t between = 0;
    for (auto const& p : j["node_pairs"]) between += p["bytes"].get<std::int64_t>();
    EXPECT_EQ(between, j["bytes"]["network"]) << file;
    EXPECT_GE(j["bytes"]["total"], j["tensor_bytes"]) << file;
    EXPECT_FALSE(j["detail"].empty()) << file;
  }
}

TEST(WeightsCommand, ADisaggregatedPoolIsReachedOverTheNetworkAlone) {
  nlohmann::json const j = json({folder + "examples/grpo-7b-async-two-pools.yaml"});
  EXPECT_EQ(j["colocated"], false);
  EXPECT_EQ(j["bytes"]["network"], j["bytes"]["total"]);
  EXPECT_EQ(j["node_pairs"].size(), 1U);
}

TEST(WeightsCommand, AnAdapterAloneIsSmall) {
  std::vector<std::string> const adapter = {
      example, "--set", "algorithm.adapter={kind: lora, rank: 16, targets: [q, v], sync: adapter}"};
  nlohmann::json const j = json(adapter);
  EXPECT_EQ(j["payload"], "adapter");
  // 32 layers, A and B of q and of v.
  EXPECT_EQ(j["tensors"], 128);
  EXPECT_EQ(j["tensor_bytes"], 32 * 2 * 16 * (4096 + 4096 + 4096 + 1024));
}

TEST(WeightsCommand, Fp8TellsItsScales) {
  CommandRun const r = run({example, "--set", "rollout.weights=fp8"});
  EXPECT_THAT(r.out, HasSubstr("fp8 with a scale per 128 x 128 block"));
  CommandRun const cut = run({folder + "published/R03-nemo-rl-30b-a3b-four-nodes.yaml", "--set",
                              "rollout.weights=fp8", "--set", "rollout.parallel.tp=4"});
  EXPECT_THAT(cut.out, HasSubstr("vLLM and SGLang refuse it"));
}

TEST(WeightsCommand, FlatParametersOfFsdp) {
  std::string const fsdp = folder + "examples/grpo-7b-async-two-pools.yaml";
  CommandRun const r = run({fsdp, "--flat-parameters", "--tensor", "down_proj"});
  EXPECT_EQ(r.exit_code, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("layers.0.mlp.down_proj.weight from layers.0.flat_param"));
  EXPECT_THAT(r.out, HasSubstr("(the ends in part)"));
  // Where they lie changes nothing of what arrives.
  EXPECT_EQ(json({fsdp, "--flat-parameters"})["received"], json({fsdp})["received"]);
}

// 128 experts over ep 8 of the trainer: expert 5 is one of the 16 of its first rank; an engine has all of
// them.
TEST(WeightsCommand, OneExpertByName) {
  std::string const moe = folder + "published/R03-nemo-rl-30b-a3b-four-nodes.yaml";
  nlohmann::json const j = json({moe, "--tensor", "layers.7.mlp.experts.5.down_proj"});
  ASSERT_EQ(j["detail"].size(), 1U);
  EXPECT_EQ(j["detail"][0]["tensor"], "layers.7.mlp.experts.5.down_proj.weight");
  EXPECT_EQ(j["detail"][0]["destination"], "layers.7.mlp.experts.w2_weight[5]");
  EXPECT_EQ(j["detail"][0]["copies"][0]["source_rank"], 0);
}

TEST(WeightsCommand, EqualInputGivesEqualBytes) {
  EXPECT_EQ(run({example, "--json", "-"}).out, run({example, "--json", "-"}).out);
}

TEST(WeightsCommand, BadInput) {
  auto const refused = [](std::vector<std::string> words, char const* why) {
    CommandRun const r = run(std::move(words));
    EXPECT_EQ(r.exit_code, 2);
    EXPECT_EQ(r.out, "");
    EXPECT_THAT(r.err, HasSubstr(why));
  };
  refused({"no-such-file.yaml"}, "no-such-file.yaml");
  refused({folder + "examples/dpo-8b-fsdp.yaml"}, "dpo trains on a data set");
  refused({folder + "examples/sft-8b-lora-one-gpu.yaml"}, "no rollout engines");
  refused({example, "--tensor", "no_such"}, "no tensor has 'no_such' in its name; there are input_layernorm");
  refused({example, "--flat-parameters"}, "--flat-parameters is FSDP's");
  refused(
      {folder + "examples/grpo-7b-async-two-pools.yaml", "--flat-parameters", "--set", "train.parallel.tp=2"},
      "tp, pp and ep of 1");
  refused({folder + "published/R03-nemo-rl-30b-a3b-four-nodes.yaml", "--set", "rollout.parallel.ep=64"},
          "ep 64 does not divide the 32 ranks");
  refused({example, "--fp8-scales", "tensor"}, "--fp8-scales is of engines in fp8");
  refused({example, "--set", "rollout.parallel.tp=3"}, "rollout.parallel");
  refused({example, "--json", "/no/such/folder/weights.json"}, "cannot write");
}

TEST(WeightsReport, RanksOfEqualBytesAreOneGroup) {
  LinkBytes const a{{1, 2, 3}};
  LinkBytes const b{{3, 2, 1}};
  std::vector<RankGroup> const groups = equal_ranks({a, b, a});
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0].ranks, (std::vector<int>{0, 2}));
  EXPECT_EQ(groups[1].ranks, (std::vector<int>{1}));
}

}  // namespace
}  // namespace rollcast
