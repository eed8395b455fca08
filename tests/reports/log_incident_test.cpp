// The records of an incident: saved and read back, told in words, marked in a trace.
#include "reports/log_incident.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <sstream>

#include "reports/analysis.hpp"
#include "reports/incident_report.hpp"
#include "reports/json.hpp"
#include "reports/log_file.hpp"
#include "reports/terminal.hpp"
#include "reports/trace.hpp"
#include "tests/reports/small_log.hpp"
#include "tests/sim/child_process.hpp"
#include "tests/sim/faulty_jobs.hpp"

namespace rollcast {
namespace {

// Rank 3 of four raises an exception in the first update; two of the others wait from then on, one since
// before.
EventLog small_incident() {
  EventLog log = small_log();
  log.outcome = Outcome::stalled;
  log.outcome_reason = "rank 3 raises an exception";
  StallRecord r;
  r.time = seconds(61.25);
  r.kind = StallKind::watchdog;
  r.cause = "rank 3 raises an exception";
  r.group = "fsdp";
  r.operation = "ALLGATHER";
  r.sequence = 5;
  r.waiting_ranks = {0, 1, 2};
  r.missing_ranks = {3};
  r.enqueued = seconds(61);
  r.detected = seconds(661.0625);
  r.killed = seconds(721.5);
  r.gpu_seconds_lost = 2641;
  log.stalls = {r};
  using enum HappeningKind;
  log.happenings = {{seconds(61.25), seconds(61.25), cause, 0, {3}, "rank 3 raises an exception"},
                    {seconds(61),
                     seconds(61.5),
                     waits,
                     0,
                     {0, 1, 2},
                     "3 ranks (0-2) wait in ALLGATHER 5 of fsdp for rank 3"},
                    {seconds(661.0625), seconds(661.5), detects, 0, {0, 1, 2}, "watchdog of 3 ranks (0-2)"},
                    {seconds(721.5), seconds(721.5), ends, 0, {}, "nobody waits any more"}};
  log.remedies = {{"launcher.kind: torchrun", seconds(62.35), seconds(659.15)}};
  return log;
}

LogResult read(std::string const& text) {
  std::istringstream in(text);
  return read_log(in, "run.log");
}

std::string replaced(std::string text, std::string const& from, std::string const& to) {
  auto const at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(LogIncident, RoundTripIsExact) {
  EventLog const log = small_incident();
  LogResult const result = read(log_text(log));
  ASSERT_TRUE(result.log.has_value()) << result.error;
  EventLog const& back = *result.log;
  EXPECT_EQ(log_text(back), log_text(log));
  EXPECT_EQ(back.outcome, Outcome::stalled);
  ASSERT_EQ(back.stalls.size(), 1u);
  StallRecord const& r = back.stalls[0];
  EXPECT_EQ(r.kind, StallKind::watchdog);
  EXPECT_EQ(r.cause, "rank 3 raises an exception");
  EXPECT_EQ(r.group, "fsdp");
  EXPECT_EQ(r.operation, "ALLGATHER");
  EXPECT_EQ(r.sequence, 5);
  EXPECT_EQ(r.waiting_ranks, (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(r.missing_ranks, std::vector<int>{3});
  EXPECT_DOUBLE_EQ(r.time.value, 61.25);
  EXPECT_DOUBLE_EQ(r.enqueued->value, 61);
  EXPECT_DOUBLE_EQ(r.detected->value, 661.0625);
  EXPECT_DOUBLE_EQ(r.killed->value, 721.5);
  EXPECT_DOUBLE_EQ(*r.gpu_seconds_lost, 2641);
  ASSERT_EQ(back.happenings.size(), 4u);
  EXPECT_EQ(back.happenings[1].kind, HappeningKind::waits);
  EXPECT_DOUBLE_EQ(back.happenings[1].until.value, 61.5);
  EXPECT_EQ(back.happenings[1].ranks, (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(back.happenings[3].what, "nobody waits any more");
  ASSERT_EQ(back.remedies.size(), 1u);
  EXPECT_EQ(back.remedies[0].what, "launcher.kind: torchrun");
  EXPECT_DOUBLE_EQ(back.remedies[0].ended.value, 62.35);
  EXPECT_DOUBLE_EQ(back.remedies[0].saved.value, 659.15);
  EXPECT_EQ(json_text(analyse(back)), json_text(analyse(log)));
  EXPECT_EQ(incident_text(analyse(back), {}), incident_text(analyse(log), {}));
}

// A hang in no collective, which never ends.
TEST(LogIncident, WhatNeverHappensComesBackAbsent) {
  EventLog log = small_incident();
  log.stalls[0] = {};
  log.stalls[0].kind = StallKind::hang;
  LogResult const result = read(log_text(log));
  ASSERT_TRUE(result.log.has_value()) << result.error;
  StallRecord const& r = result.log->stalls.at(0);
  EXPECT_EQ(r.kind, StallKind::hang);
  EXPECT_FALSE(r.enqueued.has_value());
  EXPECT_FALSE(r.detected.has_value());
  EXPECT_FALSE(r.killed.has_value());
  EXPECT_FALSE(r.gpu_seconds_lost.has_value());
  EXPECT_TRUE(r.waiting_ranks.empty());
}

TEST(LogIncident, BadRecordsAreRefused) {
  std::string const text = log_text(small_incident());
  auto const error = [&](std::string const& from, std::string const& to) {
    LogResult const r = read(replaced(text, from, to));
    EXPECT_FALSE(r.log.has_value()) << to;
    return r.error;
  };
  EXPECT_NE(error("\"watchdog\",0", "\"sheepdog\",0").find("'sheepdog' is no kind of stall"),
            std::string::npos);
  EXPECT_NE(error("\"watchdog\",0", "\"watchdog\",1").find("a pool of this log"), std::string::npos);
  EXPECT_NE(error("\"waits\",0", "\"wails\",0").find("'wails' is no kind of happening"), std::string::npos);
  EXPECT_NE(error("\"waits\",0,[0,1,2]", "\"waits\",0,7").find("a list of ranks is none"), std::string::npos);
  EXPECT_NE(error("\"waits\",0,[0,1,2]", "\"waits\",0,[-1]").find("run.log:"), std::string::npos);
  EXPECT_NE(error("[\"happening\",61.0,61.5,", "[\"happening\",61.0,60.5,").find("ends before it starts"),
            std::string::npos);
}

TEST(LogIncident, EveryCutIsNoticed) {
  std::string const text = log_text(small_incident());
  for (std::size_t n = 0; n + 1 < text.size(); ++n)
    EXPECT_FALSE(read(text.substr(0, n)).log.has_value()) << n;
}

// Whatever one changed byte makes of the records of an incident, it is an error value or a log that every
// report can show.
TEST(LogIncident, ChangedBytesNeverBreakAReport) {
  std::string const text = log_text(small_incident());
  std::size_t const first = text.find("[\"stall\""), end = text.find("[\"step\"");
  ASSERT_LT(first, end);
  int read_back = 0;
  for (std::size_t i = first; i < end; ++i) {
    for (char c : {'9', '-', '"', ']', '\n', '\xff'}) {
      std::string changed = text;
      changed[i] = c;
      LogResult const r = read(changed);
      ASSERT_NE(r.log.has_value(), !r.error.empty());
      if (!r.log) continue;
      ++read_back;
      Analysis const a = analyse(*r.log);
      ASSERT_FALSE(incident_text(a, {}).empty());
      ASSERT_FALSE(render_terminal(a, {}).empty());
      ASSERT_FALSE(json_text(a).empty());
      ASSERT_FALSE(trace_text(*r.log).empty());
    }
  }
  EXPECT_GT(read_back, 100);
}

// 721.5 - 61.25 = 660.25 s = 11.0 min; x 4 GPUs / 3600 = 0.734 hours. Torchrun: over 62.35 - 61.25 = 1.1 s
// after the cause, 659.15 s x 4 / 3600 = 0.732 hours earlier. Who waits since before the cause has a minus.
TEST(IncidentReport, TellsASmallCase) {
  EXPECT_EQ(incident_text(analyse(small_incident()), {}),
            "The run stalls: rank 3 raises an exception.\n"
            "\n"
            "What happened (time of the run; since the first cause)\n"
            "   0:01:01.250        +0.0 s  rank 3 raises an exception\n"
            "   0:01:01.000        -0.2 s  3 ranks (0-2) wait in ALLGATHER 5 of fsdp for rank 3 (until\n"
            "                              0:01:01.500)\n"
            "   0:11:01.063      +599.8 s  watchdog of 3 ranks (0-2) (until 0:11:01.500)\n"
            "   0:12:01.500      +660.2 s  nobody waits any more\n"
            "\n"
            "From the cause to the end 11.0 min: 0.734 GPU-hours of 4 GPUs lost, and what was done since the "
            "last\n"
            "checkpoint.\n"
            "\n"
            "What would have ended it sooner\n"
            "  - launcher.kind: torchrun: over after 1.10 s, 0.732 GPU-hours saved\n");
}

TEST(IncidentReport, WhatNeverEndsHasNoCostYet) {
  EventLog log = small_incident();
  log.happenings.resize(2);
  log.remedies.clear();
  std::string const text = incident_text(analyse(log), {});
  EXPECT_NE(text.find("Nobody ends it"), std::string::npos) << text;
  EXPECT_NE(text.find("Each hour costs 4 GPU-hours."), std::string::npos) << text;
  EXPECT_EQ(text.find("sooner"), std::string::npos);
}

TEST(IncidentReport, WhereNothingWentWrongSaysSo) {
  EXPECT_EQ(incident_text(analyse(small_log()), {}).find("No incident: "), 0u);
}

TEST(IncidentReport, LinesKeepTheWidth) {
  EventLog log = small_incident();
  for (Happening& h : log.happenings) h.what += " and a good deal more of what there is to say about this";
  std::istringstream text(incident_text(analyse(log), {.width = 80}));
  std::string line;
  std::getline(text, line);  // the verdict alone may be longer
  while (std::getline(text, line)) EXPECT_LE(line.size(), 80u) << line;
}

TEST(TraceIncident, EveryHappeningIsAMark) {
  EventLog const log = small_incident();
  nlohmann::json const trace = nlohmann::json::parse(trace_text(log));
  std::vector<nlohmann::json> marks;
  double last = 0;
  for (nlohmann::json const& e : trace["traceEvents"]) {
    if (e["ph"] == "M") continue;
    EXPECT_GE(e["ts"].get<double>(), last);
    last = e["ts"];
    if (e["ph"] == "i") marks.push_back(e);
  }
  ASSERT_EQ(marks.size(), 4u);
  EXPECT_EQ(marks[0]["name"], "3 ranks (0-2) wait in ALLGATHER 5 of fsdp for rank 3");
  EXPECT_DOUBLE_EQ(marks[0]["ts"].get<double>(), 61e6);
  EXPECT_EQ(marks[1]["name"], "rank 3 raises an exception");
  EXPECT_EQ(marks[3]["name"], "nobody waits any more");
  for (nlohmann::json const& m : marks) {
    EXPECT_EQ(m["s"], "g");  // over all tracks
    EXPECT_EQ(m["cat"], "incident");
  }
}

// Runs that end in an incident: the same bytes again, and they come back from a file.
TEST(LogIncident, ARunsLogIsTheSameAgainAndComesBack) {
  for (LauncherKind k : {LauncherKind::none, LauncherKind::ray, LauncherKind::torchrun}) {
    auto const once = [&] {
      return in_child([&] {
        Scenario s = megatron_on_a_node();
        s.job.faults = {fault_in(Phase::update_actor, FaultKind::raise, {5})};
        s.job.launcher.kind = k;
        EventLog const log = run_faulty(s);
        std::string const text = log_text(log);
        LogResult const back = read(text);
        EXPECT_TRUE(back.log.has_value()) << back.error;
        EXPECT_EQ(back.log ? log_text(*back.log) : "", text);
        EXPECT_NE(incident_text(analyse(log), {}).find("rank 5"), std::string::npos);
        return std::vector<double>{static_cast<double>(text.size()),
                                   static_cast<double>(std::hash<std::string>{}(text) >> 12)};
      });
    };
    EXPECT_EQ(once(), once());
  }
}

}  // namespace
}  // namespace rollcast
