#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/scenarios/example.hpp"

namespace rollcast {
namespace {

Lengths response(std::string const& value) {
  ScenarioResult const r = read_example({"workload.response_tokens=" + value});
  EXPECT_TRUE(r.scenario) << value << "\n" << format(r.problems);
  return r.scenario ? r.scenario->job.workload.response_tokens : Lengths{};
}

Problem problem(std::string const& value, std::string const& below = "") {
  return problem_of(read_example({"workload.response_tokens=" + value}), "workload.response_tokens" + below);
}

TEST(LengthFields, FixedAndPlainNumber) {
  EXPECT_EQ(std::get<FixedLength>(response("512").shape).tokens, 512);
  EXPECT_EQ(std::get<FixedLength>(response("{fixed: 512}").shape).tokens, 512);
  EXPECT_NE(problem("{fixed: 512, max: 500}", ".fixed").what.find("beyond max 500"), std::string::npos);
}

TEST(LengthFields, LogNormalByParameters) {
  auto const l = std::get<LogNormalLength>(response("{lognormal: {mu: 6.2, sigma: 0.5}, max: 2000}").shape);
  EXPECT_EQ(l.mu, 6.2);
  EXPECT_EQ(l.sigma, 0.5);
  EXPECT_EQ(l.max, 2000);
}

TEST(LengthFields, MeanAndP95HoldAfterTheCut) {
  Lengths const l = response("{lognormal: {mean: 1019, p95: 2600}, max: 3969}");
  EXPECT_NEAR(mean(l, 0), 1019, 0.5);
  auto const& n = std::get<LogNormalLength>(l.shape);
  EXPECT_NEAR(n.mu + 1.6448536269514722 * n.sigma, portable_log(2600), 1e-6);
  EXPECT_NE(problem("{lognormal: {mean: 1019, p95: 100}, max: 3969}", ".lognormal.mean")
                .what.find("no such log-normal"),
            std::string::npos);
  EXPECT_EQ(problem("{lognormal: {mean: 1019}, max: 3969}", ".lognormal.p95").what, "is missing");
  problem("{lognormal: {mean: 1019, p95: 2600, mu: 3}, max: 3969}", ".lognormal.mu");
}

TEST(LengthFields, EmpiricalListAndFile) {
  EXPECT_EQ(std::get<EmpiricalLength>(response("{empirical: [5, 10, 20]}").shape).tokens,
            (std::vector<int>{5, 10, 20}));
  std::filesystem::path const folder = std::filesystem::path(testing::TempDir()) / "length_fields_test";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "lengths.csv") << "tokens\n5\n\n10\r\n";
  std::ofstream(folder / "bad.csv") << "5\nten\n";
  std::ofstream(folder / "empty.csv") << "";
  auto const read = [&](std::string const& file) {
    return read_scenario_text(example_text(), (folder / "s.yaml").string(),
                              {{"workload.response_tokens={empirical: " + file + "}"}, {}});
  };
  ScenarioResult const good = read("lengths.csv");
  ASSERT_TRUE(good.scenario) << format(good.problems);
  EXPECT_EQ(std::get<EmpiricalLength>(good.scenario->job.workload.response_tokens.shape).tokens,
            (std::vector<int>{5, 10}));
  std::string const key = "workload.response_tokens.empirical";
  EXPECT_NE(problem_of(read("bad.csv"), key).what.find("line 2: 'ten'"), std::string::npos);
  EXPECT_NE(problem_of(read("empty.csv"), key).what.find("no lengths"), std::string::npos);
  EXPECT_NE(problem_of(read("none.csv"), key).what.find("no such file"), std::string::npos);
  EXPECT_NE(problem_of(read("."), key).what.find("no such file"), std::string::npos);
  std::filesystem::remove_all(folder);
}

TEST(LengthFields, Mixture) {
  Lengths const l = response(
      "{mixture: [{weight: 3, fixed: 100}, {weight: 1, lognormal: {mean: 1000, p95: 2000}}], max: 4000}");
  auto const& m = std::get<MixtureLength>(l.shape);
  EXPECT_EQ(m.weights, (std::vector<double>{3, 1}));
  EXPECT_NEAR(mean(l, 0), 0.75 * 100 + 0.25 * 1000, 0.5);
  problem("{mixture: [{weight: 0, fixed: 100}], max: 200}", ".mixture[0].weight");
  problem("{mixture: [{fixed: 100, lognormal: {mu: 1, sigma: 1}}], max: 200}", ".mixture[0]");
  problem("{mixture: [{mixture: []}], max: 200}", ".mixture[0].mixture");
  problem("{mixture: []}", ".mixture");
}

TEST(LengthFields, ExactlyOneShape) {
  EXPECT_NE(problem("{max: 100}").what.find("says no lengths"), std::string::npos);
  EXPECT_NE(problem("{fixed: 5, empirical: [5]}").what.find("more than one"), std::string::npos);
  problem("[5]");
  EXPECT_EQ(problem("{fixd: 5}", ".fixd").remedy, "did you mean fixed?");
}

TEST(LengthFields, GrowthNeedsACut) {
  EXPECT_TRUE(read_example({"workload.growth_per_step=0.02"}).scenario);
  problem_of(read_example({"workload.growth_per_step=0.02", "workload.response_tokens=100"}),
             "workload.response_tokens");
}

}  // namespace
}  // namespace rollcast
