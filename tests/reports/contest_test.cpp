#include "reports/contest.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "reports/contest_report.hpp"

namespace rollcast {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

// 100 samples of 1,000 tokens a step on so many GPUs at 2 $ an hour.
ContenderRun run_of(double step, std::int64_t gpus = 8) {
  ContenderRun r;
  r.headline.gpus = gpus;
  r.headline.steps = 1;
  r.headline.step = Seconds(step);
  r.headline.samples_per_second = 100 / step;
  r.headline.tokens_per_second_per_gpu = 100'000 / step / static_cast<double>(gpus);
  r.headline.dollars_per_step = 2.0 * static_cast<double>(gpus) * step / 3600;
  r.steps = {Seconds(step)};
  r.dollars_per_hour = 2.0 * static_cast<double>(gpus);
  return r;
}

Contender contender(std::string name, std::vector<double> const& steps, std::int64_t gpus = 8) {
  Contender c{std::move(name), "file.yaml", {}, "the work", {}};
  for (double const s : steps) c.runs.push_back(run_of(s, gpus));
  return c;
}

Contender out_of_memory(std::string name, std::vector<double> const& steps) {
  Contender c = contender(std::move(name), steps);
  c.runs.back().headline.outcome = Outcome::oom;
  c.runs.back().headline.reason = "logits need 4 GiB";
  return c;
}

// Log ratios ln 1.2 and ln 1.3: mean 0.22229, deviation 0.0566, half = 12.706 x 0.0566 / sqrt(2) = 0.50850;
// exp(0.22229) = 1.249 (the geometric mean), interval exp(-0.286) = 0.751 to exp(0.731) = 2.077.
TEST(Contest, TellsNoDifferenceWhereTheIntervalHasOne) {
  Contest const c = contest({contender("a", {12, 13}), contender("b", {10, 10})}, {1, 2}, 1, std::nullopt);
  EXPECT_EQ(c.speed.best, 1u);
  EXPECT_NEAR(c.speed.against->ratio, 1.249, 0.0005);
  EXPECT_NEAR(c.speed.against->low.value(), 0.751, 0.0005);
  EXPECT_NEAR(c.speed.against->high.value(), 2.077, 0.001);
  EXPECT_FALSE(c.speed.decided());
  EXPECT_EQ(verdict(c),
            "There is no difference that we can tell between b and a in speed per sample: the ratio is 1.25 "
            "(0.751 to 2.08 with 95 % confidence over 2 paired seeds).");
}

// Nine draws: 1.1 to 1.9 times as fast in steps of 0.1; of 9 the quantile q lies at place 10 q, so p10 and
// p90 are the least and the largest. A tenth that did not complete does not count.
TEST(Contest, SaysWhatDrawsOfPricesDoToTheRatio) {
  std::vector<Headline> best(10);
  std::vector<Headline> next(10);
  for (std::size_t i = 0; i < 9; ++i) {
    best[i].steps = next[i].steps = 1;
    best[i].samples_per_second = 1.1 + 0.1 * static_cast<double>(i);
    next[i].samples_per_second = 1;
  }
  Contest c = contest({contender("a", {12, 13}), contender("b", {10, 10})}, {1, 2}, 1, std::nullopt);
  EXPECT_EQ(drawn_verdict(c), "");
  c.drawn = drawn_speed(best, next, WorkUnit::sample);
  ASSERT_TRUE(c.drawn);
  EXPECT_NEAR(c.drawn->ratio.p50, 1.5, 1e-12);
  EXPECT_EQ(drawn_verdict(c),
            "With prices drawn as well as lengths (10 paired draws) it is 1.10 to 1.90 times as fast (p10 to "
            "p90), and faster in 9 of 9.");
  for (Headline& h : next) h.samples_per_second = 1.45;
  c.drawn = drawn_speed(best, next, WorkUnit::sample);
  EXPECT_EQ(c.drawn->faster, 5);
  EXPECT_NE(drawn_verdict(c).find("faster in 5 of 9: errors of prices could turn it round."),
            std::string::npos);
  best.resize(8);
  next.resize(8);
  EXPECT_FALSE(drawn_speed(best, next, WorkUnit::sample));
}

// The same with twice the pairs, three degrees of freedom: deviation 0.0462, half = 3.182 x 0.0462 / 2 =
// 0.0735; exp(0.1488) = 1.160 to exp(0.2958) = 1.344.
TEST(Contest, NamesTheFasterOneWhereItLiesAboveOne) {
  Contest const c = contest({contender("a", {12, 13, 12, 13}), contender("b", {10, 10, 10, 10})},
                            {1, 2, 3, 4}, 1, std::nullopt);
  EXPECT_EQ(
      verdict(c),
      "b is 1.25 times as fast per sample as a (1.16 to 1.34 with 95 % confidence over 4 paired seeds).");
  EXPECT_EQ(cost_verdict(c), "");
  // a has 1 / 1.249 of b's speed.
  EXPECT_NEAR(c.speed_of_best[0]->ratio, 1 / 1.249, 0.0005);
  EXPECT_DOUBLE_EQ(c.speed_of_best[1]->ratio, 1);
  // Scatter that both have drops out: the same seeds are the same work.
  Contest const paired =
      contest({contender("a", {11, 110}), contender("b", {10, 100})}, {1, 2}, 1, std::nullopt);
  EXPECT_TRUE(paired.speed.decided());
}

TEST(Contest, OfOneSeedHasNoInterval) {
  Contest const c = contest({contender("a", {12}), contender("b", {10})}, {1}, 1, std::nullopt);
  EXPECT_EQ(verdict(c), "b is 1.2 times as fast per sample as a (one seed, so without an interval).");
  Contest const same = contest({contender("a", {10}), contender("b", {10})}, {1}, 1, std::nullopt);
  EXPECT_THAT(verdict(same), StartsWith("There is no difference that we can tell"));
}

// b is twice as fast on four times the GPUs: per GPU-hour a does twice as much, and per dollar as well.
TEST(Contest, SaysWhoIsCheaperToo) {
  Contest const c = contest({contender("a", {20, 20}, 8), contender("b", {10, 10}, 32)}, {1, 2}, 1, 1000);
  EXPECT_THAT(verdict(c), StartsWith("b is 2 times as fast per sample as a"));
  EXPECT_THAT(cost_verdict(c), StartsWith("By the GPU-hour, a does 2 times as many samples as b"));
  EXPECT_THAT(cost_verdict(c), HasSubstr("By the dollar, a does 2 times as many samples as b"));
  // 8 GPUs x 20 s = 0.0444 h a step, 2 $ each.
  EXPECT_NEAR(c.figures[0].gpu_hours_per_step, 8 * 20 / 3600.0, 1e-12);
  EXPECT_NEAR(c.figures[0].dollars_per_step.value(), 2 * 8 * 20 / 3600.0, 1e-12);
}

TEST(Contest, LetsNobodyWinWhoDoesNotCompleteEverySeed) {
  Contest const c = contest({contender("a", {20, 20}), out_of_memory("b", {1, 1})}, {1, 2}, 1, std::nullopt);
  EXPECT_EQ(verdict(c), "Only a can run; b: oom in 1 of 2 seeds, logits need 4 GiB.");
  EXPECT_FALSE(c.speed_of_best[1]);
  EXPECT_EQ(c.figures[1].completed, 1);
  Contest const none = contest({out_of_memory("b", {1})}, {1}, 1, std::nullopt);
  EXPECT_EQ(verdict(none), "None of them can run: b: oom, logits need 4 GiB.");
  EXPECT_EQ(none.figures[0].step.steps, 0);
}

// The same time for a step, but b's samples are of half the length: by the token a is twice as fast.
TEST(Contest, OfOtherWorkCountsTokens) {
  Contender b = contender("b", {10, 10});
  b.work = "shorter responses";
  for (ContenderRun& r : b.runs) r.headline.tokens_per_second_per_gpu /= 2;
  Contest const c = contest({contender("a", {10, 10}), b}, {1, 2}, 1, std::nullopt);
  EXPECT_EQ(c.unit, WorkUnit::token);
  EXPECT_THAT(verdict(c), StartsWith("a is 2 times as fast per token as b"));
  ASSERT_EQ(c.warnings.size(), 3u);
  EXPECT_THAT(c.warnings[0], HasSubstr("do not do the same work"));
  EXPECT_EQ(c.warnings[2], "b: shorter responses");
}

TEST(Contest, NamesTheFirstTwoOfMany) {
  Contest const c = contest({contender("a", {30, 30}), contender("b", {10, 10}), contender("c", {20, 20})},
                            {1, 2}, 1, std::nullopt);
  EXPECT_THAT(verdict(c), StartsWith("b is 2 times as fast per sample as c"));
  EXPECT_NEAR(c.speed_of_best[0]->ratio, 1.0 / 3, 1e-12);
}

TEST(Contest, NeedsARunForEachSeed) {
  EXPECT_THROW(contest({contender("a", {1})}, {1, 2}, 1, std::nullopt), std::logic_error);
}

TEST(Contest, TextPutsTheVerdictFirst) {
  Contest const c = contest({contender("a", {20, 20}), out_of_memory("b", {1, 1})}, {1, 2}, 1, 1000);
  std::string const text = contest_text(c);
  EXPECT_THAT(text, StartsWith("Only a can run; b: oom in 1 of 2 seeds, logits need 4 GiB.\n"));
  EXPECT_THAT(text, HasSubstr("B: b (oom: logits need 4 GiB)"));
  // 8 GPUs x 20 s x 1000 steps: 44.4 h at 2 $.
  EXPECT_THAT(text, HasSubstr("44.4 h, 88.9 $"));
  EXPECT_THAT(text, EndsWith("1 step of 2 seeds each. An interval tells of the random lengths, not of the "
                             "error of the prices.\n"));
}

TEST(Contest, CsvHasARowPerContender) {
  Contest const c = contest({contender("a", {20}), out_of_memory("x=1,y=\"2\"", {1})}, {1}, 1, std::nullopt);
  std::string const csv = contest_csv(c);
  std::string const head = csv.substr(0, csv.find('\n'));
  EXPECT_THAT(head, StartsWith("name,file,sets,outcome,reason,gpus,speed_of_best,"));
  std::string const rows = csv.substr(head.size() + 1);
  EXPECT_THAT(rows,
              StartsWith("a,file.yaml,,completed,,8,1,,,20,20,20,20,5,5000,0.0444444444,0.0888888889,"));
  EXPECT_THAT(rows, HasSubstr("\n\"x=1,y=\"\"2\"\"\",file.yaml,,oom,logits need 4 GiB,8,,,,,"));
  auto const commas = [](std::string const& line) { return std::count(line.begin(), line.end(), ','); };
  EXPECT_EQ(commas(rows.substr(0, rows.find('\n'))), commas(head));
}

}  // namespace
}  // namespace rollcast
