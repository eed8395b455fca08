#include "reports/json.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "reports/csv.hpp"
#include "tests/reports/small_log.hpp"

namespace rollcast {
namespace {

using Json = nlohmann::ordered_json;

TEST(Json, HasTheStableKeysInOrder) {
  Json const j = Json::parse(json_text(analyse(small_log())));
  std::vector<std::string> keys;
  for (auto const& [key, value] : j.items()) keys.push_back(key);
  EXPECT_EQ(keys, (std::vector<std::string>{"schema",
                                            "scenario",
                                            "seed",
                                            "outcome",
                                            "step_seconds",
                                            "phases",
                                            "weight_sync",
                                            "tokens_per_second_per_gpu",
                                            "samples_per_second",
                                            "gpu_hours_per_step",
                                            "staleness",
                                            "samples",
                                            "padding_waste",
                                            "preemptions",
                                            "utilization",
                                            "memory",
                                            "prices",
                                            "oom",
                                            "stalls",
                                            "failures",
                                            "incident",
                                            "critical_path"}));
}

TEST(Json, FiguresAreThoseOfTheAnalysis) {
  Json const j = Json::parse(json_text(analyse(small_log())));
  EXPECT_EQ(j["outcome"], "completed");
  EXPECT_EQ(j["seed"], 7);
  EXPECT_EQ(j["step_seconds"]["p90"], 118);
  EXPECT_EQ(j["phases"][1]["name"], "update_actor");
  EXPECT_EQ(j["phases"][1]["pool"], "main");
  EXPECT_EQ(j["samples_per_second"], 0.0727272727);  // 16 / 220 to nine digits
  EXPECT_EQ(j["utilization"]["main"]["idle_by_cause"]["rollout_tail"], 0.136363636);
  EXPECT_EQ(j["memory"]["main"]["peak_bytes"], 80530636800);  // 75 x 2^30
  EXPECT_EQ(j["memory"]["main"]["peak_phase"], "update_actor");
  EXPECT_EQ(j["memory"]["main"]["capacity_bytes"], 85899345900);           // 80 x 2^30 = 85899345920
  EXPECT_EQ(j["memory"]["main"]["ledger"]["actor.weights"], 21474836500);  // 20 x 2^30 = 21474836480
  EXPECT_EQ(j["staleness"], Json({{"mean", 0.25}, {"samples", {12, 4}}}));
  EXPECT_EQ(j["samples"], Json({{"generated", 20}, {"trained", 16}, {"with_signal", 8}}));
  EXPECT_EQ(j["padding_waste"], 0.2);
  EXPECT_TRUE(j["oom"].empty());
  EXPECT_EQ(j["critical_path"][0], Json({{"phase", "generate"}, {"cause", "compute"}, {"seconds", 70.0}}));
}

TEST(Json, NoCompletedStepGivesNulls) {
  EventLog log = small_log_with_oom();
  log.steps.clear();
  Json const j = Json::parse(json_text(analyse(log)));
  EXPECT_EQ(j["outcome"], "oom");
  EXPECT_TRUE(j["step_seconds"]["mean"].is_null());
  EXPECT_TRUE(j["tokens_per_second_per_gpu"].is_null());
  EXPECT_TRUE(j["staleness"]["mean"].is_null());
  EXPECT_TRUE(j["samples"]["with_signal"].is_null());
  EXPECT_TRUE(j["padding_waste"].is_null());
  EXPECT_EQ(j["oom"][0]["allocation"], "logits");
  EXPECT_EQ(j["oom"][0]["requested_bytes"], 4294967300);  // 4 x 2^30 = 4294967296
}

TEST(Json, NineDigitsRound) {
  EXPECT_EQ(nine_digits(1.23456789449), 1.23456789);
  EXPECT_EQ(nine_digits(-99999999.96), -100000000.0);
  EXPECT_EQ(std::signbit(nine_digits(-0.0)), false);
  EXPECT_THROW(nine_digits(std::numeric_limits<double>::infinity()), std::logic_error);
}

TEST(Csv, OneRowPerStepAndPhase) {
  EXPECT_EQ(csv_text(small_log()),
            "scenario,seed,step,step_seconds,pool,phase,start_seconds,seconds,exposed_seconds,prices\n"
            "small,7,0,100,main,generate,0,60,60,derived from a100-sxm-80gb; own: collectives + pcie\n"
            "small,7,0,100,main,update_actor,60,30,30,derived from a100-sxm-80gb; own: collectives + pcie\n"
            "small,7,0,100,main,weight_sync,90,10,10,derived from a100-sxm-80gb; own: collectives + pcie\n"
            "small,7,1,120,main,generate,100,80,80,derived from a100-sxm-80gb; own: collectives + pcie\n"
            "small,7,1,120,main,update_actor,180,30,30,derived from a100-sxm-80gb; own: collectives + pcie\n"
            "small,7,1,120,main,weight_sync,210,10,10,derived from a100-sxm-80gb; own: collectives + pcie\n");
}

TEST(Csv, WindowsOfOnePhaseAddUpAndNamesAreQuoted) {
  EventLog log = small_log();
  log.scenario = "a, \"b\"";
  log.steps.clear();
  log.phases = {{0, 0, Phase::generate, seconds(1), seconds(2)},
                {0, 0, Phase::sleep, seconds(2), seconds(3)},
                {0, 0, Phase::generate, seconds(5), seconds(7.5)}};
  EXPECT_EQ(
      csv_text(log),
      "scenario,seed,step,step_seconds,pool,phase,start_seconds,seconds,exposed_seconds,prices\n"
      "\"a, \"\"b\"\"\",7,0,,main,generate,1,3.5,3.5,derived from a100-sxm-80gb; own: collectives + pcie\n"
      "\"a, \"\"b\"\"\",7,0,,main,sleep,2,1,1,derived from a100-sxm-80gb; own: collectives + pcie\n");
}

}  // namespace
}  // namespace rollcast
