#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "reports/commands/commands.hpp"
#include "tests/reports/run_command.hpp"

namespace rollcast {
namespace {

using testing::HasSubstr;

std::string const kExample = ROLLCAST_SOURCE_DIR "/scenarios/examples/sft-8b-lora-one-gpu.yaml";

TEST(PlanCommand, NamesTheKnobsThatThereAre) {
  CommandRun const r = run_command(add_plan_command, {"plan", kExample, "--keep", "train.tp"});
  EXPECT_EQ(r.exit_code, 2);
  EXPECT_THAT(r.err, HasSubstr("there is no knob 'train.tp'; write placement, schedule,"));
  EXPECT_THAT(r.err, HasSubstr("train.recompute"));
}

TEST(PlanCommand, OutputsHaveFilesOfTheirOwn) {
  CommandRun const r = run_command(add_plan_command, {"plan", kExample, "--json", "-", "--csv", "-"});
  EXPECT_EQ(r.exit_code, 2);
  EXPECT_THAT(r.err, HasSubstr("two outputs"));
}

// A scenario without a rollout has no engines, and one site.
TEST(PlanCommand, PlansTrainingAlone) {
  CommandRun const r =
      run_command(add_plan_command, {"plan", kExample, "--most-gpus", "1", "--json", "-", "--workers", "2"});
  EXPECT_EQ(r.exit_code, 0) << r.err;
  auto const json = nlohmann::json::parse(r.out);
  ASSERT_FALSE(json.at("best").empty());
  EXPECT_EQ(json.at("best").at(0).at("engines"), 0);
  EXPECT_EQ(json.at("minimum").at("gpus"), 1);
  EXPECT_TRUE(json.at("layouts").at("exhaustive").get<bool>());
}

}  // namespace
}  // namespace rollcast
