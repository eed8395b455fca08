#include "reports/sweep.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "reports/output_file.hpp"
#include "reports/sweep_report.hpp"
#include "tests/reports/temporary_folder.hpp"

namespace rollcast {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Sweep sweep_of(std::vector<std::string> const& vary) {
  return {{"folder/s.yaml", "model: config.json\n", {}}, *grid_of(vary).value, 5, 2};
}

// In place of a simulation: samples per second are the seed; seed 3 breaks.
std::string body(std::string const& text) {
  ForecastTask const t = forecast_task_from_text(text);
  if (t.seed == 3) throw std::runtime_error("a broken invariant");
  Headline h;
  h.steps = t.steps;
  h.step = Seconds(1);
  h.samples_per_second = static_cast<double>(t.seed);
  h.tokens_per_second_per_gpu = 1.0 / static_cast<double>(t.seed);
  return to_text(h);
}

SweepResult run(Sweep const& sweep, SweepStore* store = nullptr) {
  ForkPool pool(2, body);
  SweepWorkers workers(pool, 2, nullptr, "");
  std::size_t most = 0;
  auto const result =
      run_sweep(sweep, workers, store, [&](std::size_t done) { most = std::max(most, done); });
  EXPECT_EQ(result.error, "");
  EXPECT_EQ(most, points_of(sweep.grid));
  return *result.value;
}

TEST(Sweep, ATaskHasTheValuesOfItsPoint) {
  Sweep const s = sweep_of({"a.b=x,y", "seed=7,8"});
  EXPECT_THAT(task_at(s, 3).sets, ElementsAre("a.b=y"));
  EXPECT_EQ(task_at(s, 3).seed, 8u);
  EXPECT_EQ(task_at(s, 3).steps, 2);
  EXPECT_EQ(task_at(sweep_of({"a=1"}), 0).seed, 5u);
}

TEST(Sweep, ResultsAreInTheOrderOfThePoints) {
  SweepResult const r = run(sweep_of({"seed=4..40"}));
  ASSERT_EQ(r.headlines.size(), 37u);
  for (std::size_t i = 0; i < 37; ++i)
    EXPECT_EQ(r.headlines[i].samples_per_second, 4.0 + static_cast<double>(i));
  EXPECT_EQ(r.simulated, 37u);
}

// What the store has is not simulated again, what failed is, and new values are added to it.
TEST(Sweep, GoesOnWhereItWas) {
  TemporaryFolder const folder;
  Sweep const first = sweep_of({"seed=1..4"});
  auto const open = [&] {
    auto s = SweepStore::open(folder.path("s.sqlite"), identity_of(first, ""));
    EXPECT_EQ(s.error, "");
    return std::move(*s.value);
  };
  {
    SweepStore store = open();
    SweepResult const r = run(first, &store);
    EXPECT_EQ(r.simulated, 4u);
    EXPECT_EQ(r.failed, 1u);
    EXPECT_EQ(r.headlines[2].outcome, Outcome::failed);
    EXPECT_EQ(r.headlines[2].reason, "a broken invariant");
    EXPECT_THAT(sweep_text(first, r), HasSubstr("1  failed: a broken invariant (seed=3)"));
  }
  SweepStore store = open();
  SweepResult const r = run(sweep_of({"seed=2..6"}), &store);
  EXPECT_EQ(r.simulated, 3u);  // 3, 5 and 6
  EXPECT_EQ(r.headlines[0].samples_per_second, 2);
  EXPECT_EQ(r.headlines[4].samples_per_second, 6);
  EXPECT_EQ(store.rows().size(), 5u);  // 1, 2, 4, 5, 6
}

TEST(Sweep, TheReportNamesTheBestPoints) {
  Sweep const s = sweep_of({"seed=10,20"});
  std::string const text = sweep_text(s, run(s));
  EXPECT_THAT(text, HasSubstr("Sweep of s: 2 points, 2 simulated now.\n          2  completed\n"));
  // 1 / 20 s a sample comes first; by tokens 0.1 comes before 0.05.
  EXPECT_THAT(text, HasSubstr("50.0 ms     1.00 s          0.05  seed=20\n     100 ms"));
  EXPECT_LT(text.rfind("seed=10"), text.rfind("seed=20"));
}

TEST(SweepIdentity, DependsOnAllThatIsReadAndNotOnTheValues) {
  TemporaryFolder const folder;
  ASSERT_EQ(write_file(folder.path("config.json"), "{}"), "");
  ASSERT_EQ(write_file(folder.path("gpus.yaml"), "a"), "");
  ASSERT_EQ(write_file(folder.path("program"), "b"), "");
  Sweep s = sweep_of({"a=1,2", "b=3"});
  s.source.file = folder.path("s.yaml");
  s.source.options = {{"c=4"}, {folder.path("gpus.yaml")}};
  auto const text = [&] { return to_text(identity_of(s, folder.path("program"))); };
  std::string last = text();
  auto const changes = [&](char const* what) {
    std::string const now = text();
    EXPECT_NE(now, last) << what;
    last = now;
  };
  s.grid[0].values = {"1", "5"};
  EXPECT_EQ(text(), last);
  std::swap(s.grid[0], s.grid[1]);
  EXPECT_EQ(text(), last);
  s.source.text += "#";
  changes("the scenario");
  s.source.options.sets.front() = "c=5";
  changes("--set");
  s.seed = 6;
  changes("--seed");
  s.steps = 3;
  changes("--steps");
  s.grid.pop_back();
  changes("the keys");
  ASSERT_EQ(write_file(folder.path("config.json"), "{ }"), "");
  changes("a file that the scenario names");
  ASSERT_EQ(write_file(folder.path("gpus.yaml"), "aa"), "");
  changes("a catalog file");
  ASSERT_EQ(write_file(folder.path("program"), "bb"), "");
  changes("the program");
}

}  // namespace
}  // namespace rollcast
