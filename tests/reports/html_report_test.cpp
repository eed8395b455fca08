#include "reports/html_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/html_page.hpp"
#include "reports/terminal.hpp"
#include "tests/reports/small_log.hpp"

namespace rollcast {
namespace {

using Json = nlohmann::ordered_json;
using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kBare =
    "<title>@rollcast-title@</title><script id=\"data\">@rollcast-data@</script>";

Json data_of(EventLog const& log) { return html_data(log, analyse(log)); }

TEST(HtmlReport, SaysWhatTheTerminalSays) {
  Analysis const a = analyse(small_log());
  Json const d = data_of(small_log());
  EXPECT_EQ(d["headline"], verdict(a));
  EXPECT_EQ(d["summary"], summary(a));
  EXPECT_EQ(d["outcome"], "completed");
  EXPECT_EQ(d["steps"]["mean"], 110);
  EXPECT_EQ(d["steps"]["seconds"], Json({100, 120}));
  EXPECT_EQ(d["cards"][0]["name"], "Step time");
  EXPECT_EQ(d["cards"][0]["value"], "110 s");
  EXPECT_EQ(d["prices"][0]["p90"], 0.25);
  EXPECT_EQ(d["notes"][0], small_log().notes[0]);
  // 40 GiB at 0 and 100 s, none from 60 and 180 s on.
  EXPECT_EQ(d["memory"][0]["capacity"], 80);
  EXPECT_EQ(d["memory"][0]["times"], Json({0, 60, 100, 180}));
  EXPECT_EQ(d["memory"][0]["series"][0]["gib"], Json({40, 0, 40, 0}));
}

TEST(HtmlReport, MarksTheOutOfMemory) {
  EventLog log = small_log_with_oom();
  log.counters.push_back(
      {1, CounterKind::memory, Role::actor, MemoryCategory::weights, seconds(60), GiB(70).value});
  Json const d = data_of(log);
  EXPECT_EQ(d["cards"][0]["name"], "Out of memory");
  EXPECT_EQ(d["cards"][0]["tone"], "bad");
  EXPECT_EQ(d["timeline"]["marks"][0]["time"], 61.25);
  // 79 of 80 GiB are held, 4 more are asked for.
  EXPECT_EQ(d["memory"][0]["oom"]["gib"], 83);
  EXPECT_EQ(d["memory"][0]["oom"]["time"], 61.25);
  EXPECT_EQ(d["memory"][0]["rank"], 3);
}

TEST(HtmlReport, TextIsNeverMarkup) {
  EventLog log = small_log();
  log.scenario = "</script><script>alert(1)</script><!-- @rollcast-data@ \xff \x01";
  log.notes = {"<img src=x onerror=alert(2)>"};
  log.labels[0] = "</script>";
  std::string const page = filled_page(kBare, "run", data_of(log));
  EXPECT_EQ(page.find("<script"), page.rfind("<script"));
  EXPECT_EQ(page.find("</script>"), page.size() - 9);
  EXPECT_THAT(page, Not(HasSubstr("<img")));
  EXPECT_THAT(page, Not(HasSubstr("<!--")));
  EXPECT_THAT(page, HasSubstr("<title>&lt;/script&gt;"));
  // The data are what they were, but for bytes that are no text.
  std::size_t const start = page.find('{');
  Json const read = Json::parse(page.substr(start, page.rfind('}') + 1 - start));
  EXPECT_EQ(read["kind"], "run");
  EXPECT_EQ(read["data"]["notes"][0], log.notes[0]);
  EXPECT_THAT(read["data"]["scenario"].get<std::string>(),
              HasSubstr("</script><script>alert(1)</script><!--"));
}

TEST(HtmlReport, AnEmptyLogAndAnInfeasibleRunHavePages) {
  EventLog log;
  log.outcome = Outcome::infeasible;
  log.outcome_reason = "no layout fits";
  for (EventLog const& each : {EventLog{}, log}) {
    std::string const page = filled_page(kBare, "run", data_of(each));
    EXPECT_THAT(page, HasSubstr("\"kind\":\"run\""));
  }
}

TEST(HtmlReport, StaysSmallWhateverTheSizeOfTheRun) {
  EventLog log = small_log();
  std::string const lengthy(100'000, 'x');
  log.scenario = lengthy;
  log.notes.assign(3000, lengthy);
  log.happenings.assign(5000, {seconds(1), seconds(2), HappeningKind::waits, 0, {1}, lengthy});
  log.labels.clear();
  for (int i = 0; i < 3000; ++i) log.labels.push_back(std::to_string(i) + lengthy.substr(0, 500));
  log.rank_classes.clear();
  log.ledger_of_class.clear();
  RankLedger const ledger = log.ledgers[0];
  log.ledgers.clear();
  log.spans.clear();
  log.counters.clear();
  log.pools.resize(4, log.pools[0]);
  for (int c = 0; c < 2000; ++c) {
    log.rank_classes.push_back({"rank " + lengthy.substr(0, 1000), c % 4, c, {c}});
    log.ledgers.push_back(ledger);
    log.ledger_of_class.push_back(c);
    for (int i = 0; i < 200; ++i) {
      Seconds const from = seconds(i * 1.1 + c * 1e-4);
      log.spans.push_back({c,
                           i % 2,
                           static_cast<Stream>(i % 5),
                           static_cast<Phase>(i % 12),
                           static_cast<Activity>(i % 9),
                           (c * 200 + i) % 3000,
                           from,
                           from + seconds(1),
                           {},
                           {}});
      log.counters.push_back({c, static_cast<CounterKind>(i % 6), static_cast<Role>(i % 6),
                              static_cast<MemoryCategory>(i / 6 % 13), from, 1e9 / 3 * i});
    }
  }
  std::string const page = filled_page(kBare, "run", data_of(log));
  // The bundle takes less than 0.8 MB (a test of the program looks at whole pages).
  EXPECT_LT(page.size(), 1'150'000U);
}

TEST(HtmlPage, IsOneFileThatAsksForNothing) {
  if (std::string const problem = html_problem(); !problem.empty()) GTEST_SKIP() << problem;
  std::string const page = run_page(small_log(), analyse(small_log()));
  EXPECT_LT(page.size(), 800'000U);
  for (char const* remote :
       {"src=\"http", "href=\"http", "url(http", "@import", "fetch(\"", "XMLHttpRequest"})
    EXPECT_THAT(page, Not(HasSubstr(remote)));
  EXPECT_THAT(page, HasSubstr("<title>small - Rollcast</title>"));
  EXPECT_THAT(page, HasSubstr("Apache ECharts"));
  EXPECT_EQ(page, run_page(small_log(), analyse(small_log())));
}

}  // namespace
}  // namespace rollcast
