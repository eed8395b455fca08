// Errors, medians and pairs worked out by hand, without a simulation.
#include "reports/validation.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "reports/validation_report.hpp"
#include "tests/reports/golden.hpp"
#include "tests/scenarios/example.hpp"

namespace rollcast {
namespace {

using Json = nlohmann::ordered_json;

ValidationCase step_case(std::string name, double measured, std::optional<double> predicted) {
  return {std::move(name),
          "a report",
          "A",
          "the same work",
          false,
          {{"step_seconds", measured, predicted, std::nullopt, predicted ? "" : "failed: no reason"}},
          ""};
}

// Two layouts of one source, a fitted case, one without a forecast, one that is no scenario.
Validation small() {
  ValidationCase fast = step_case("C1-fast", 100, 90);
  fast.quantities.push_back({"phase.generate", 40, 50, std::nullopt, ""});
  fast.quantities.push_back({"tokens_per_second_per_gpu", 1000, 1111.25, std::nullopt, ""});
  ValidationCase slow = step_case("C1-slow", 125, 99);
  slow.quantities.push_back({"phase.weight_sync", 0, 0.5, std::nullopt, ""});
  ValidationCase fitted = step_case("C2-fitted", 10, 10.1);
  fitted.source = "another report";
  fitted.fitted = true;
  fitted.quantities[0].left_out = 12.5;
  ValidationCase none = step_case("C3-none", 80, std::nullopt);
  none.grade = "B";
  ValidationCase unread;
  unread.name = "C4-broken";
  unread.unread = "line 3: model: is missing";
  return validate({fast, slow, fitted, none, unread}, {"idea"});
}

TEST(Validation, QuantitiesAreNamedByPhase) {
  EXPECT_EQ(quantity_name("step_seconds"), "step_seconds");
  EXPECT_EQ(quantity_name("update_actor_seconds"), "phase.update_actor");
  EXPECT_EQ(quantity_name("tokens_per_second_per_gpu"), "tokens_per_second_per_gpu");
}

TEST(Validation, ACaseTakesWhatItsScenarioMeasured) {
  ScenarioResult const read = read_example();
  ASSERT_TRUE(read.scenario) << format(read.problems);
  ValidationCase const c = case_of(*read.scenario);
  EXPECT_EQ(c.source, "NeMo-RL performance summary v0.5");
  EXPECT_EQ(c.grade, "A");
  EXPECT_TRUE(c.work.starts_with(
      "llama-3.1-8b, grpo, full, 2048 samples, prompts of 127 tokens, responses of log-normal("))
      << c.work;
  ASSERT_EQ(c.quantities.size(), 2U);
  EXPECT_EQ(c.quantities[0].name, "step_seconds");
  EXPECT_EQ(c.quantities[0].measured, 92.8);
  EXPECT_FALSE(c.quantities[0].predicted);
}

// Twice the samples, another model, other lengths or an adapter is other work; another layout is not.
TEST(Validation, WorkIsModelAlgorithmSamplesAndLengths) {
  auto const work = [](std::vector<std::string> sets) {
    ScenarioResult const read = read_example(std::move(sets));
    EXPECT_TRUE(read.scenario) << format(read.problems);
    return case_of(*read.scenario).work;
  };
  std::string const same = work({});
  EXPECT_EQ(work({"train.parallel.tp=2", "cluster.nodes=4"}), same);
  EXPECT_NE(work({"algorithm.prompts=128"}), same);
  EXPECT_NE(work({"model=llama-3-8b"}), same);
  EXPECT_NE(work({"workload.prompt_tokens=77"}), same);
  EXPECT_NE(work({"workload.response_tokens={lognormal: {mean: 900, p95: 2000}, max: 3969}"}), same);
  EXPECT_NE(work({"workload.response_tokens={lognormal: {mean: 900, p95: 2000}, max: 3969}"}),
            work({"workload.response_tokens={lognormal: {mean: 900, p95: 2001}, max: 3969}"}));
  EXPECT_NE(work({"algorithm.adapter={kind: lora}"}), same);
}

TEST(Validation, AnIdEndsAtTheFirstDash) {
  EXPECT_EQ(id_of("R31-nemo-rl-8b"), "R31");
  EXPECT_EQ(id_of("alone"), "alone");
}

TEST(Validation, ErrorsNeedAForecastAndAMeasurement) {
  EXPECT_DOUBLE_EQ(*error_of(90, 100), -0.1);
  EXPECT_FALSE(error_of(std::nullopt, 100));
  EXPECT_FALSE(error_of(0.5, 0));
}

// Grade A steps: |-10 %|, |99/125 - 1| = 20.8 %, and of the fitted case 1 %, without it 25 %: medians 10 and
// 20.8 %.
TEST(Validation, MediansByKindAndGrade) {
  Validation const v = small();
  ASSERT_EQ(v.summaries.size(), 4U);
  EXPECT_EQ(v.summaries[0].kind, "step");
  EXPECT_EQ(v.summaries[0].forecasts, 3);
  EXPECT_NEAR(*v.summaries[0].median, 0.1, 1e-12);
  EXPECT_NEAR(*v.summaries[0].median_left_out, 0.208, 1e-12);
  EXPECT_NEAR(*v.summaries[0].worst, 0.208, 1e-12);
  EXPECT_EQ(v.summaries[0].worst_case, "C1-slow");
  EXPECT_EQ(v.summaries[1].kind, "phases");
  EXPECT_EQ(v.summaries[1].missing, 1);  // 0 s measured
  EXPECT_NEAR(*v.summaries[1].median, 0.25, 1e-12);
  EXPECT_EQ(v.summaries[2].kind, "throughput");
  EXPECT_FALSE(v.summaries[3].grade_a);
  EXPECT_EQ(v.summaries[3].missing, 1);
  EXPECT_FALSE(v.summaries[3].median);
}

// Of an even number the mean of the middle two: (10 % + 30 %) / 2.
TEST(Validation, MedianOfTwo) {
  Validation const v = validate({step_case("a", 100, 110), step_case("b", 100, 70)}, {});
  EXPECT_NEAR(*v.summaries[0].median, 0.2, 1e-12);
}

// Source x: 10 %, 10 %, 20 % (median 10 %); y: 40 %; z: 30 %. Of all five 20 %, of the three medians 30 %.
TEST(Validation, EverySourceCountsTheSame) {
  std::vector<ValidationCase> cases = {step_case("a", 100, 110), step_case("b", 100, 90),
                                       step_case("c", 100, 120), step_case("d", 100, 140),
                                       step_case("e", 100, 70)};
  cases[3].source = "y";
  cases[4].source = "z";
  ErrorSummary const s = validate(cases, {}).summaries.at(0);
  EXPECT_NEAR(*s.median, 0.2, 1e-12);
  EXPECT_EQ(s.sources, 3);
  EXPECT_NEAR(*s.median_by_source, 0.3, 1e-12);
}

TEST(Validation, PairsAreOfOneSourceAndWorkAndFarApart) {
  auto const pairs = [](ValidationCase a, ValidationCase b) {
    return validate({std::move(a), std::move(b)}, {}).pairs;
  };
  EXPECT_EQ(pairs(step_case("a", 100, 1), step_case("b", 111, 1)).size(), 1U);
  EXPECT_EQ(pairs(step_case("a", 111, 1), step_case("b", 100, 1)).size(), 1U);
  EXPECT_TRUE(pairs(step_case("a", 100, 1), step_case("b", 109, 1)).empty());
  EXPECT_TRUE(pairs(step_case("a", 109, 1), step_case("b", 100, 1)).empty());
  ValidationCase other = step_case("b", 200, 1);
  other.source = "another report";
  EXPECT_TRUE(pairs(step_case("a", 100, 1), other).empty());
  other = step_case("b", 200, 1);
  other.work = "other work";
  EXPECT_TRUE(pairs(step_case("a", 100, 1), other).empty());
  other = step_case("b", 200, 1);
  other.quantities[0].name = "phase.generate";
  EXPECT_TRUE(pairs(step_case("a", 100, 1), other).empty());
}

TEST(Validation, APairAgreesWhereTheFasterOneIsTheSame) {
  auto const pair = [](std::optional<double> a, std::optional<double> b) {
    return validate({step_case("a", 100, a), step_case("b", 125, b)}, {}).pairs.at(0);
  };
  ValidationPair const same = pair(90, 99);
  EXPECT_DOUBLE_EQ(same.measured_ratio, 0.8);
  EXPECT_DOUBLE_EQ(*same.predicted_ratio, 90.0 / 99);
  EXPECT_EQ(same.agrees(), std::optional(true));
  EXPECT_EQ(pair(99, 90).agrees(), std::optional(false));
  EXPECT_EQ(pair(90, 90).agrees(), std::optional(false));
  EXPECT_FALSE(pair(90, std::nullopt).predicted_ratio);
  EXPECT_FALSE(pair(90, std::nullopt).agrees());
}

TEST(Validation, Text) { expect_golden(validation_text(small(), PairsShown::all), "validation_small.txt"); }

TEST(Validation, PairsThatDisagreeAreAlwaysShown) {
  auto const text = [](std::optional<double> a, PairsShown shown) {
    return validation_text(validate({step_case("a", 100, a), step_case("b", 125, 100)}, {}), shown);
  };
  EXPECT_EQ(text(90, PairsShown::disagreeing).find("a is 1.25"), std::string::npos);
  EXPECT_NE(text(90, PairsShown::disagreeing).find("1 of 1 forecasts name the faster one\n"),
            std::string::npos);
  EXPECT_NE(text(90, PairsShown::all).find("a is 1.25 times as fast as b; forecast 1.11: agrees"),
            std::string::npos);
  EXPECT_NE(text(110, PairsShown::disagreeing).find("the other one is faster"), std::string::npos);
  EXPECT_NE(text(std::nullopt, PairsShown::disagreeing)
                .find("0 of 0 forecasts name the faster one; 1 pair without"),
            std::string::npos);
}

TEST(Validation, JsonHasOneItemPerQuantityInOrder) {
  Json const j = Json::parse(validation_json(small()));
  std::vector<std::string> rows;
  for (Json const& c : j["cases"])
    rows.push_back(c["case"].get<std::string>() + ' ' +
                   (c["quantity"].is_null() ? "null" : c["quantity"].get<std::string>()));
  EXPECT_EQ(rows, (std::vector<std::string>{"C1-fast step_seconds", "C1-fast phase.generate",
                                            "C1-fast tokens_per_second_per_gpu", "C1-slow step_seconds",
                                            "C1-slow phase.weight_sync", "C2-fitted step_seconds",
                                            "C3-none step_seconds", "C4-broken null"}));
  EXPECT_EQ(j["cases"][0], (Json{{"case", "C1-fast"},
                                 {"source", "a report"},
                                 {"grade", "A"},
                                 {"quantity", "step_seconds"},
                                 {"predicted", 90.0},
                                 {"measured", 100.0},
                                 {"error", -0.1},
                                 {"fitted", false},
                                 {"left_out_error", nullptr},
                                 {"reason", nullptr}}));
  EXPECT_EQ(j["cases"][5]["fitted"], true);
  EXPECT_EQ(j["cases"][5]["error"], 0.01);
  EXPECT_EQ(j["cases"][5]["left_out_error"], 0.25);
  EXPECT_TRUE(j["cases"][6]["predicted"].is_null());
  EXPECT_EQ(j["cases"][6]["reason"], "failed: no reason");
  EXPECT_EQ(j["pairs"], (Json{{{"a", "C1-fast"},
                               {"b", "C1-slow"},
                               {"measured_ratio", 0.8},
                               {"predicted_ratio", 0.909090909},
                               {"agrees", true}},
                              {{"a", "C1-fast"},
                               {"b", "C3-none"},
                               {"measured_ratio", 1.25},
                               {"predicted_ratio", nullptr},
                               {"agrees", nullptr}},
                              {{"a", "C1-slow"},
                               {"b", "C3-none"},
                               {"measured_ratio", 1.5625},
                               {"predicted_ratio", nullptr},
                               {"agrees", nullptr}}}));
  EXPECT_EQ(j["not_measured"], Json({"idea"}));
}

}  // namespace
}  // namespace rollcast
