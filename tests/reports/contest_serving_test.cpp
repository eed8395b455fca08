#include "reports/contest_serving.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/contest_report.hpp"

namespace rollcast {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// 100 requests of 1,000 tokens in 100 / rate seconds on 8 GPUs at 2 $ an hour; of the 8 / rate GPU-seconds of
// a request, what is given is adapters' and the rest the base model's.
ContenderRun run_of(double rate, std::optional<double> goodput, double adapters = 0) {
  ContenderRun r;
  Headline& h = r.headline;
  h.gpus = 8;
  h.steps = 1;
  h.step = Seconds(100 / rate);
  h.samples_per_second = rate;
  h.tokens_per_second_per_gpu = 1000 * rate / 8;
  h.dollars_per_step = 16 * h.step.value / 3600;
  ServingHeadline s;
  if (goodput) s.objective.ttft = seconds(1);
  auto const set = [&](ServingColumn c, double v) { s.values[static_cast<std::size_t>(c)] = v; };
  set(ServingColumn::requests, 100);
  set(ServingColumn::requests_per_second, rate);
  if (goodput) set(ServingColumn::goodput, *goodput);
  if (goodput) set(ServingColumn::in_time_share, *goodput / rate);
  set(ServingColumn::ttft_p50, 0.1);
  set(ServingColumn::ttft_p99, 0.5);
  set(ServingColumn::gpu_seconds_base, 8 / rate - adapters);
  set(ServingColumn::gpu_seconds_adapters, adapters);
  h.serving = s;
  r.steps = {h.step};
  r.dollars_per_hour = 16;
  return r;
}

Contender contender(std::string name, std::vector<ContenderRun> runs) {
  return {std::move(name), "file.yaml", {}, "the requests", std::move(runs)};
}

// Three and two times the rate of the other with two seeds alike: ratio sqrt(2 x 2) = 2 without width. Of the
// 8 / 1 = 8 GPU-seconds of a request, 5 of the split batches; of the batched 8 / 2 = 4, 1.
TEST(ContestServing, SaysWhoServesMoreRequestsAndWhy) {
  ContenderRun split = run_of(1, std::nullopt, 5);
  split.headline.serving->execution = AdapterExecution::split;
  Contest const c = contest({contender("split", {split, split}),
                             contender("batched", {run_of(2, std::nullopt, 1), run_of(2, std::nullopt, 1)})},
                            {1, 2}, 1, std::nullopt);
  EXPECT_EQ(c.unit, WorkUnit::request);
  EXPECT_EQ(verdict(c),
            "batched serves 2 times as many requests per second as split (2.00 to 2.00 with 95 % confidence "
            "over 2 paired seeds): per request, it spends 4.00 s less GPU time on the further forwards of "
            "split batches.");
  EXPECT_TRUE(c.why.empty());
  ASSERT_EQ(c.serving_why.size(), 1u);
  EXPECT_NEAR(c.serving_why[0].saved().value, 4, 1e-12);
}

TEST(ContestServing, WhereTimesAreAskedRequestsInTimeCount) {
  Contest const c = contest({contender("quick", {run_of(4, 1)}), contender("in time", {run_of(3, 2)})}, {1},
                            1, std::nullopt);
  EXPECT_EQ(c.unit, WorkUnit::request_in_time);
  EXPECT_EQ(c.speed.best, 1u);
  EXPECT_THAT(verdict(c), StartsWith("in time serves 2 times as many requests in time as quick ("));
  EXPECT_NEAR(c.speed_of_best[0]->ratio, 0.5, 1e-12);
}

TEST(ContestServing, OneWithoutARequestInTimeIsNotRanked) {
  Contest const c = contest({contender("late", {run_of(4, 0)}), contender("in time", {run_of(3, 2)})}, {1}, 1,
                            std::nullopt);
  EXPECT_EQ(verdict(c), "Only in time can serve requests in time; late: no request is in time.");
  EXPECT_FALSE(c.speed_of_best[0]);
  Contest const none =
      contest({contender("a", {run_of(4, 0)}), contender("b", {run_of(3, 0)})}, {1}, 1, std::nullopt);
  EXPECT_EQ(none.unit, WorkUnit::request);
  EXPECT_THAT(none.warnings, testing::ElementsAre(HasSubstr("None of them has a request in time")));
}

TEST(ContestServing, OneThatIsRefusedIsShownWithItsReason) {
  ContenderRun refused;
  refused.headline.outcome = Outcome::refused;
  refused.headline.reason = "40 slots do not fit, 12 do";
  Contest const c =
      contest({contender("fixed", {refused}), contender("unified", {run_of(3, 2)})}, {1}, 1, std::nullopt);
  EXPECT_EQ(c.unit, WorkUnit::request_in_time);
  EXPECT_EQ(verdict(c),
            "Only unified can serve requests in time; fixed: refused, 40 slots do not fit, 12 do.");
  EXPECT_THAT(contest_text(c), HasSubstr("A: fixed (refused: 40 slots do not fit, 12 do)\n"));
}

// The arrivals decide how many are served: the ratio says nothing, the first tokens do.
TEST(ContestServing, ARateThatTheArrivalsDecideIsNoDifference) {
  Contest const c =
      contest({contender("a", {run_of(2.01, std::nullopt)}), contender("b", {run_of(2, std::nullopt)})}, {1},
              1, std::nullopt);
  EXPECT_EQ(verdict(c),
            "There is hardly a difference between a and b in requests per second: the ratio is 1 "
            "(one seed, so without an interval); at p99 the first token comes after 500 ms and 500 ms.");
}

TEST(ContestServing, OtherRequestsAndOtherLimitsAreWarnedOf) {
  Contender other = contender("b", {run_of(2, std::nullopt)});
  other.work = "other requests";
  Contest const c = contest({contender("a", {run_of(3, 1)}), other}, {1}, 1, std::nullopt);
  EXPECT_EQ(c.unit, WorkUnit::request);
  EXPECT_THAT(c.warnings[0], StartsWith("The contenders do not serve the same requests"));
  EXPECT_THAT(c.warnings.back(), StartsWith("The contenders do not ask for the same times"));
}

// 100 requests take 8 GPUs x 50 s = 0.111 h and 0.222 $; a thousand ten times as much. A million tokens are
// ten runs of 100,000.
TEST(ContestServing, TheTableHasRatesCostAndWhereTheTimeGoes) {
  std::string const text = contest_text(
      contest({contender("a", {run_of(2, 1, 1)}), contender("b", {run_of(1, 0.5)})}, {1}, 1, std::nullopt));
  EXPECT_THAT(text, HasSubstr("in time, of the best"));
  EXPECT_THAT(text, HasSubstr("cost of 1,000 requests                  1.11 h, 2.22 $"));
  EXPECT_THAT(text, HasSubstr("  of 1,000,000 tokens                   1.11 h, 2.22 $"));
  EXPECT_THAT(text, HasSubstr("  adapters in steps                       1.00 s, 25 %"));
  EXPECT_THAT(text, Not(HasSubstr("samples/s")));
  EXPECT_THAT(
      text,
      EndsWith("\n1 seed each. An interval tells of the random requests, not of the error of the prices.\n"));
}

TEST(ContestServing, CsvHasTheColumns) {
  std::string const csv = contest_csv(
      contest({contender("a", {run_of(2, 1, 1)}), contender("b", {run_of(1, 0.5)})}, {1}, 1, std::nullopt));
  EXPECT_THAT(csv, HasSubstr("timeout_seconds,requests,requests_per_second,"));
  EXPECT_THAT(csv, HasSubstr(",100,2,"));
}

// A saving of 3 on loads and 1 on idling (a tenth and more of 4), against 2 more on adapters (a fifth and
// more).
TEST(ServingDifference, TellsTheTwoLargestSavingsAndWhatTheyCost) {
  auto const s = [](double base, double adapters, double loads, double idle) {
    ServingHeadline h;
    h.values[static_cast<std::size_t>(ServingColumn::gpu_seconds_base)] = base;
    h.values[static_cast<std::size_t>(ServingColumn::gpu_seconds_adapters)] = adapters;
    h.values[static_cast<std::size_t>(ServingColumn::gpu_seconds_loads)] = loads;
    h.values[static_cast<std::size_t>(ServingColumn::gpu_seconds_idle)] = idle;
    return h;
  };
  EXPECT_EQ(
      because(serving_differences(s(5, 2, 0, 1), s(5, 0, 3, 2)), AdapterExecution::batched),
      "it spends 3.00 s less GPU time on waits for loads and 1.00 s less on idling, although 2.00 s more "
      "on adapters in steps");
  // More idle time is no cost, and without a saving there is nothing to say.
  EXPECT_EQ(because(serving_differences(s(5, 0, 0, 9), s(5, 0, 3, 0)), AdapterExecution::batched),
            "it spends 3.00 s less GPU time on waits for loads");
  EXPECT_EQ(because(serving_differences(s(6, 0, 0, 9), s(5, 0, 0, 0)), AdapterExecution::batched), "");
}

}  // namespace
}  // namespace rollcast
