// rollcast memory, run in this process with its output captured.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "reports/commands/commands.hpp"
#include "tests/reports/run_command.hpp"

namespace rollcast {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string const example = ROLLCAST_SOURCE_DIR "/scenarios/examples/grpo-8b-colocated.yaml";

CommandRun run(std::vector<std::string> words) { return run_command(&add_memory_command, std::move(words)); }

TEST(MemoryCommand, TheExampleFits) {
  CommandRun const r = run({"memory", example});
  EXPECT_EQ(r.exit_code, 0);
  EXPECT_EQ(r.err, "");
  EXPECT_THAT(r.out, StartsWith("Fits: "));
  for (char const* text : {"stage 0", "stage 1", "update_actor", "KV pages",
                           "Host memory of the fullest node", "Longest sequence that fits: "}) {
    EXPECT_THAT(r.out, HasSubstr(text));
  }
}

// A layout that does not fit is a result, not a failure.
TEST(MemoryCommand, NotFittingIsAResult) {
  CommandRun const r = run({"memory", example, "--set", "rollout.gpu_memory_utilization=0.2"});
  EXPECT_EQ(r.exit_code, 0);
  EXPECT_THAT(r.out, StartsWith("Does not fit: the rollout engine refuses to start"));
}

// Engine and trainer on pools of their own do not share a GPU: 74 GiB of engine beside 53 GiB of trainer fit.
TEST(MemoryCommand, PoolsHaveLedgersOfTheirOwn) {
  std::string const pooled = ROLLCAST_SOURCE_DIR "/scenarios/published/R01-nemo-rl-8b-one-step-off-v0.5.yaml";
  CommandRun const r = run({"memory", pooled, "--json", "-"});
  auto const json = nlohmann::json::parse(r.out);
  EXPECT_EQ(json["fits"], true) << json["verdict"];
  ASSERT_EQ(json["classes"].size(), 2U);
  EXPECT_EQ(json["classes"][0]["pool"], "train");
  EXPECT_EQ(json["classes"][1]["pool"], "generation");
  for (auto const& line : json["classes"][1]["lines"]) EXPECT_NE(line["role"], "actor");
  EXPECT_TRUE(json["changes"].is_null());
}

TEST(MemoryCommand, JsonInPlaceOfTheText) {
  CommandRun const r = run({"memory", example, "--json", "-"});
  EXPECT_EQ(r.exit_code, 0);
  auto const json = nlohmann::json::parse(r.out);
  EXPECT_EQ(json["scenario"], "grpo-8b-colocated");
  EXPECT_EQ(json["classes"].size(), 2U);
}

// The changes that are offered were tried: with each of them it does fit.
TEST(MemoryCommand, OffersChangesThatFit) {
  std::vector<std::string> const words = {
      "memory", example, "--set", "train.recompute=none", "--set", "train.micro_batch=4"};
  std::vector<std::string> with_json = words;
  with_json.insert(with_json.end(), {"--json", "-"});
  auto const json = nlohmann::json::parse(run(with_json).out);
  ASSERT_EQ(json["fits"], false) << json["verdict"];
  ASSERT_EQ(json["changes"].size(), 3U);
  double last = 0;
  for (auto const& change : json["changes"]) {
    std::vector<std::string> changed = with_json;
    for (auto const& set : change["sets"]) changed.insert(changed.end(), {"--set", set.get<std::string>()});
    EXPECT_EQ(nlohmann::json::parse(run(changed).out)["fits"], true) << change;
    EXPECT_GE(change["gpu_hours_per_step"].get<double>(), last);
    last = change["gpu_hours_per_step"].get<double>();
  }
}

// A model nine times as large needs several changes at once.
TEST(MemoryCommand, ChangesAddUpWhereNoneIsEnough) {
  CommandRun const r = run({"memory", example, "--set", "model=llama-3.1-70b", "--json", "-"});
  auto const json = nlohmann::json::parse(r.out);
  ASSERT_EQ(json["fits"], false);
  ASSERT_EQ(json["changes"].size(), 1U) << json["changes"];
  EXPECT_GT(json["changes"][0]["sets"].size(), 1U);
}

TEST(MemoryCommand, BadInput) {
  CommandRun const missing = run({"memory", "no-such-file.yaml"});
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_EQ(missing.out, "");
  EXPECT_THAT(missing.err, HasSubstr("no-such-file.yaml"));
  CommandRun const layout = run({"memory", example, "--set", "train.parallel.tp=3"});
  EXPECT_EQ(layout.exit_code, 2);
  EXPECT_THAT(layout.err, HasSubstr("train.parallel"));
}

TEST(MemoryCommand, UnwritablePath) {
  CommandRun const r = run({"memory", example, "--json", "/no/such/folder/ledger.json"});
  EXPECT_EQ(r.exit_code, 2);
  EXPECT_THAT(r.err, HasSubstr("cannot write /no/such/folder/ledger.json"));
  EXPECT_EQ(r.out, "");
}

// A run's own allocations, written and read back: with another card they do not fit, with another option the
// peak of what is reserved is lower.
TEST(MemoryCommand, ReplaysASnapshot) {
  std::string const file = testing::TempDir() + "/rollcast_replay.json";
  std::string const incident = ROLLCAST_SOURCE_DIR "/scenarios/incidents/D1-fragmentation.yaml";
  run_command(&add_run_command, {"run", incident, "--steps", "2", "--snapshot", file});
  CommandRun const plain = run({"memory", "--replay", file});
  EXPECT_EQ(plain.exit_code, 0) << plain.err;
  EXPECT_THAT(plain.out, HasSubstr("All of it fits on a card without limit"));
  EXPECT_THAT(plain.out, HasSubstr("actor optimizer_states: model"));
  CommandRun const small = run({"memory", "--replay", file, "--visible-memory", "120 GiB"});
  EXPECT_THAT(small.out, HasSubstr("Out of memory at event "));
  EXPECT_THAT(small.out, HasSubstr("CUDA out of memory. Tried to allocate "));
  CommandRun const other = run({"memory", "--replay", file, "--allocator", "expandable_segments:True"});
  EXPECT_THAT(other.out, HasSubstr("expandable_segments:True: peak "));
  EXPECT_NE(other.out, plain.out);
}

TEST(MemoryCommand, ASnapshotThatIsNoneIsSaid) {
  CommandRun const none = run({"memory", "--replay", "no-such-file.json"});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.err, HasSubstr("no-such-file.json"));
  CommandRun const wrong = run({"memory", "--replay", example});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("not JSON"));
  EXPECT_EQ(run({"memory"}).exit_code, 2);
}

}  // namespace
}  // namespace rollcast
