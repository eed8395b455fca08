// What the reports make of a serving run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "reports/headline.hpp"
#include "reports/html_report.hpp"
#include "reports/log_file.hpp"
#include "reports/requests_csv.hpp"
#include "reports/serving_columns.hpp"
#include "reports/serving_text.hpp"
#include "reports/sweep_columns.hpp"
#include "reports/terminal.hpp"
#include "reports/trace.hpp"
#include "reports/uncertainty.hpp"
#include "tests/reports/golden.hpp"
#include "tests/reports/small_serving_log.hpp"

namespace rollcast {
namespace {

using testing::HasSubstr;
using testing::Not;
using Json = nlohmann::ordered_json;

LogResult read(std::string const& text) {
  std::istringstream in(text);
  return read_log(in, "run.log");
}

std::string replaced(std::string text, std::string const& from, std::string const& to) {
  auto const at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(ServingReport, GoldenText) {
  expect_golden(render_terminal(analyse(small_serving_log()), {}), "terminal_serving.txt");
}

TEST(ServingReport, SaysNothingOfSteps) {
  std::string const text = render_terminal(analyse(small_serving_log()), {});
  for (char const* of_steps : {"One step", "per step", "a step,", "samples/s"})
    EXPECT_THAT(text, Not(HasSubstr(of_steps)));
}

// 75 of 100 engine-seconds: 15 of 20.
TEST(ServingReport, VerdictTellsWhatIsServed) {
  EXPECT_EQ(
      verdict(analyse(small_serving_log())),
      "0.5 requests/s are served on 4 x h100-sxm with 3 adapters in one batch: first token after 2.00 s, "
      "p99 3.96 s; 60 % in time, goodput 0.3 requests/s; GPUs busy 75 %; memory peak 60.0 GiB of 80.0 "
      "GiB in generate.");
}

TEST(ServingReport, OtherExecutionsAreTalkedOfInTheirWords) {
  EventLog log = small_serving_log();
  log.serving->execution = AdapterExecution::split;
  EXPECT_THAT(render_terminal(analyse(log), {}), HasSubstr("further forwards: a batch is computed once"));
  log.serving->execution = AdapterExecution::merged;
  log.serving->engines[0].switches = 4;
  log.serving->engines[0].switch_time = seconds(1);
  std::string const merged = render_terminal(analyse(log), {});
  EXPECT_THAT(merged, HasSubstr("4 of 250 ms each"));
  EXPECT_THAT(merged, Not(HasSubstr("fixed pool")));
  log.serving->execution = AdapterExecution::none;
  EXPECT_THAT(render_terminal(analyse(log), {}), Not(HasSubstr("\nAdapters\n")));
  log.serving->execution = AdapterExecution::batched;
  log.serving->pool = AdapterPool::unified;
  log.serving->engines[1].peak_pages = 77;
  EXPECT_THAT(render_terminal(analyse(log), {}), HasSubstr("77 pages"));
}

TEST(ServingReport, ARunWithoutARequestSaysWhatHappened) {
  EventLog log = small_serving_log();
  log.serving.reset();
  log.steps.clear();
  log.outcome = Outcome::refused;
  log.outcome_reason = "12 slots fit, 40 are asked";
  EXPECT_EQ(verdict(analyse(log)), "The engine refuses to start: 12 slots fit, 40 are asked.");
  log.serving = ServingLog();
  EXPECT_FALSE(serves(analyse(log)));
  EXPECT_FALSE(headline_of(analyse(log)).serving);
}

TEST(ServingReport, MeasuredRatesAndLatenciesHaveForecasts) {
  Analysis const a = analyse(small_serving_log());
  ASSERT_EQ(a.measured.size(), 2u);
  EXPECT_DOUBLE_EQ(a.measured[0].forecast.value(), 0.5);
  EXPECT_DOUBLE_EQ(a.measured[1].forecast.value(), 3.96);
}

TEST(ServingColumns, HaveNamesOfTheirOwn) {
  for (std::size_t i = 0; i < kServingColumns; ++i) {
    auto const c = static_cast<ServingColumn>(i);
    EXPECT_EQ(serving_column(name_of(c)), c) << name_of(c);
  }
  EXPECT_FALSE(serving_column("step_seconds"));
}

TEST(ServingColumns, GoodputIsOfThoseWhoAskForIt) {
  ServingFigures f = *analyse(small_serving_log()).serving;
  EXPECT_DOUBLE_EQ((*serving_headline(f))[ServingColumn::goodput].value(), 0.3);
  f.objective = {};
  EXPECT_FALSE((*serving_headline(f))[ServingColumn::goodput]);
  EXPECT_FALSE((*serving_headline(f))[ServingColumn::in_time_share]);
  EXPECT_DOUBLE_EQ((*serving_headline(f))[ServingColumn::tpot_p50].value(), 0.75);
}

TEST(ServingColumns, AHeadlineComesBackFromItsText) {
  Headline const h = headline_of(analyse(small_serving_log()));
  ASSERT_TRUE(h.serving);
  Headline const back = headline_from_text(to_text(h));
  EXPECT_EQ(to_text(back), to_text(h));
  EXPECT_EQ(back.serving->objective.tpot.value, 0.75);
  EXPECT_EQ(back.serving->values, h.serving->values);
}

TEST(ServingColumns, ASweepHasThemWhereAPointServes) {
  Headline const serving = headline_of(analyse(small_serving_log()));
  Headline training;
  training.steps = 1;
  EXPECT_THAT(sweep_csv({{"a", {"1"}}}, {training}), Not(HasSubstr("goodput")));
  std::string const csv = sweep_csv({{"a", {"1", "2"}}}, {serving, training});
  EXPECT_THAT(csv, HasSubstr(",memory_capacity_bytes,requests,requests_per_second,output_tokens_per_second,"
                             "total_tokens_per_second,goodput,in_time_share,ttft_mean,"));
  EXPECT_THAT(csv, HasSubstr(",85899345900,5,0.5,2.3,52.3,0.3,0.6,2.1,2,3.6,3.96,0.75,"));
}

TEST(ServingDraws, FiguresAreRatesAndLatencies) {
  auto const figures = figures_of(headline_of(analyse(small_serving_log())));
  ASSERT_FALSE(figures.empty());
  EXPECT_EQ(figures[0].name, "requests_per_second");
  for (RunFigure const& f : figures) EXPECT_NE(f.name, "step_seconds");
}

TEST(ServingLogFile, RoundTripIsExact) {
  EventLog log = small_serving_log();
  log.serving->execution = AdapterExecution::merged;
  log.serving->pool = AdapterPool::unified;
  log.serving->requests[0].first_token = seconds(1.0 / 3);
  log.serving->engines[1].peak_pages = 12;
  LogResult const r = read(log_text(log));
  ASSERT_TRUE(r.log) << r.error;
  EXPECT_EQ(log_text(*r.log), log_text(log));
  ASSERT_TRUE(r.log->serving);
  EXPECT_EQ(r.log->serving->requests.size(), 5u);
  EXPECT_EQ(r.log->serving->requests[0].first_token.value, 1.0 / 3);
  EXPECT_EQ(r.log->serving->requests[4].adapter, -1);
  EXPECT_EQ(r.log->serving->variants[0].targets, "q, v");
  EXPECT_EQ(r.log->serving->objective.tpot.value, 0.75);
  EXPECT_EQ(render_terminal(analyse(*r.log), {}), render_terminal(analyse(log), {}));
}

TEST(ServingLogFile, BadRequestsAreRefused) {
  std::string const text = log_text(small_serving_log());
  auto const refused = [&](std::string const& from, std::string const& to, std::string const& why) {
    LogResult const r = read(replaced(text, from, to));
    EXPECT_FALSE(r.log) << to;
    EXPECT_THAT(r.error, HasSubstr(why));
  };
  refused("[\"request\",0,1,5,", "[\"request\",2,1,5,", "answered before it comes");
  refused("[\"request\",0,1,5,100,5,0,0]", "[\"request\",0,1,5,100,5,3,0]", "an adapter of this log");
  refused("[\"request\",0,1,5,100,5,0,0]", "[\"request\",0,1,5,100,5,0,2]", "an engine of this log");
  refused("[\"serving\",\"batched\"", "[\"serving\",\"baked\"", "execution of adapters");
  std::string const head = text.substr(text.find("[\"serving\""));
  refused(head.substr(0, head.find('\n') + 1), "", "no serving record came before");
}

TEST(RequestsCsv, HasARowForEachRequest) {
  EXPECT_EQ(requests_csv(*small_serving_log().serving),
            "arrival,first_token,finish,prompt,output,adapter,engine,ttft,tpot,latency\n"
            "0,1,5,100,5,0,0,1,1,5\n"
            "1,1.5,3.5,100,5,1,1,0.5,0.5,2.5\n"
            "2,4,4,50,1,0,0,2,,2\n"
            "3,6,10,200,9,2,1,3,0.5,7\n"
            "4,8,10,50,3,,0,4,1,6\n");
}

// In flight, per 50 ms cell: request 0 alone in the first second, four of them (all but the first) from 5 to
// 10 s; the second is done at 3.5 s, the third at 4 s.
TEST(ServingHtml, ShowsLatenciesAndRequestsOverTime) {
  EventLog const log = small_serving_log();
  Json const d = html_data(log, analyse(log));
  ASSERT_FALSE(d["serving"].is_null());
  EXPECT_TRUE(d["phases"].empty());
  EXPECT_TRUE(d["steps"].is_null());
  Json const& s = d["serving"];
  EXPECT_EQ(s["curves"][0]["name"], "first token");
  EXPECT_EQ(s["curves"][0]["limit"], 3);
  EXPECT_EQ(s["curves"][0]["points"], Json::parse("[[0.5,0.2],[1,0.4],[2,0.6],[3,0.8],[4,1]]"));
  EXPECT_TRUE(s["curves"][2]["limit"].is_null());
  Json const& o = s["over_time"];
  EXPECT_EQ(o["cell"], 0.05);
  EXPECT_EQ(o["in_flight"].size(), 200u);
  EXPECT_EQ(o["in_flight"][0], 1);
  EXPECT_EQ(o["in_flight"][199], 2);
  EXPECT_EQ(o["in_flight"][65], 4);  // at 3.25 s
  EXPECT_EQ(o["waiting"][199], 0);
  EXPECT_EQ(o["waiting"][130], 1);    // at 6.5 s the last one
  EXPECT_EQ(o["finished"][199], 40);  // two in 50 ms
  EXPECT_EQ(s["tenants"].size(), 4u);
}

TEST(ServingHtml, StaysSmall) {
  EventLog log = small_serving_log();
  auto& requests = log.serving->requests;
  for (int i = 0; i < 20'000; ++i) requests.push_back(requests[static_cast<std::size_t>(i % 5)]);
  Json const d = html_data(log, analyse(log));
  EXPECT_EQ(d["serving"]["curves"][0]["points"].size(), 200u);
  EXPECT_LT(d["serving"].dump().size(), 40'000u);
}

TEST(ServingTrace, IsJson) { EXPECT_FALSE(Json::parse(trace_text(small_serving_log())).empty()); }

}  // namespace
}  // namespace rollcast
