#include "reports/log_file.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <sstream>

#include "reports/analysis.hpp"
#include "reports/csv.hpp"
#include "reports/json.hpp"
#include "reports/terminal.hpp"
#include "reports/trace.hpp"
#include "tests/reports/small_log.hpp"

namespace rollcast {
namespace {

LogResult read(std::string const& text) {
  std::istringstream in(text);
  return read_log(in, "run.log");
}

std::string error_of(std::string const& text) {
  LogResult const r = read(text);
  EXPECT_FALSE(r.log.has_value());
  EXPECT_EQ(r.error.find('\n'), std::string::npos);
  return r.error;
}

std::string replaced(std::string text, std::string const& from, std::string const& to) {
  auto const at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(LogFile, RoundTripIsExact) {
  EventLog log = small_log();
  log.seed = std::numeric_limits<std::uint64_t>::max();
  log.spans[0].start = seconds(0.1 + 0.2 - 0.3);  // 5.55e-17, not 0
  log.spans[0].flops = Flops(1.0 / 3.0);
  log.spans[0].hbm = Bytes(std::numeric_limits<double>::denorm_min());
  log.counters[0].value = -1e-7 / 3;
  log.labels[0] = "a \"quoted\"\nlabel \x01";
  log.ooms.push_back(
      {OomKind::torch, seconds(61.25), 3, 0, 0, Phase::update_actor, "logits", GiB(4), GiB(1), GiB(70)});
  LogResult const r = read(log_text(log));
  ASSERT_TRUE(r.log.has_value()) << r.error;
  EventLog const& back = *r.log;
  EXPECT_EQ(log_text(back), log_text(log));
  EXPECT_EQ(back.seed, log.seed);
  EXPECT_EQ(back.labels, log.labels);
  EXPECT_EQ(back.notes, log.notes);
  EXPECT_EQ(back.measured, log.measured);
  EXPECT_EQ(back.rank_classes[1].ranks, log.rank_classes[1].ranks);
  EXPECT_EQ(back.ledger_of_class, log.ledger_of_class);
  EXPECT_EQ(back.spans.size(), log.spans.size());
  EXPECT_EQ(back.spans[0].start.value, log.spans[0].start.value);
  EXPECT_EQ(back.spans[0].flops.value, log.spans[0].flops.value);
  EXPECT_EQ(back.spans[0].hbm.value, log.spans[0].hbm.value);
  EXPECT_EQ(back.counters[0].value, log.counters[0].value);
  EXPECT_EQ(back.ledgers[0].lines[4].host, true);
  EXPECT_EQ(back.ledgers[0].lines[4].name, "on the host");
  EXPECT_EQ(back.ledgers[0].lines[4].phases, std::vector<Phase>{Phase::generate});
  EXPECT_EQ(back.ooms[0].allocation, "logits");
  EXPECT_EQ(sentence(back.pools[0].prices), sentence(log.pools[0].prices));
  EXPECT_EQ(json_text(analyse(back)), json_text(analyse(log)));
}

TEST(LogFile, ALongRunComesBack) {
  EventLog const log = small_log_of_a_long_run();
  std::string const text = log_text(log);
  LogResult const r = read(text);
  ASSERT_TRUE(r.log.has_value()) << r.error;
  EXPECT_EQ(log_text(*r.log), text);
  EXPECT_EQ(json_text(analyse(*r.log)), json_text(analyse(log)));
  EXPECT_NE(error_of(replaced(text, "86400.0,1,", "0.01,1,")).find("more failures"), std::string::npos);
}

TEST(LogFile, SamplesOfAStepComeBack) {
  EventLog log = small_log();
  log.steps[1].signal_samples.reset();
  log.steps[1].staleness.clear();
  LogResult const r = read(log_text(log));
  ASSERT_TRUE(r.log.has_value()) << r.error;
  EXPECT_EQ(r.log->steps[0].generated_samples, 10);
  EXPECT_EQ(r.log->steps[0].computed_tokens, 11000);
  EXPECT_EQ(r.log->steps[0].useful_tokens, 8800);
  EXPECT_EQ(r.log->steps[0].staleness, (std::vector<std::int64_t>{6, 2}));
  EXPECT_EQ(r.log->steps[0].signal_samples, std::optional<std::int64_t>(4));
  EXPECT_TRUE(r.log->steps[1].staleness.empty());
  EXPECT_FALSE(r.log->steps[1].signal_samples.has_value());
}

// Logs that end a step's record after the preemptions.
TEST(LogFile, AnOlderLogIsRead) {
  std::string text = log_text(small_log());
  for (int step = 0; step < 2; ++step) text = replaced(text, ",1,10,11000,8800,[6,2],4]", ",1]");
  LogResult const r = read(text);
  ASSERT_TRUE(r.log.has_value()) << r.error;
  EXPECT_EQ(r.log->steps[1].samples, 8);
  SampleUse const use = analyse(*r.log).samples;
  EXPECT_EQ(use.generated, 0);
  EXPECT_FALSE(use.mean_staleness.has_value());
  EXPECT_FALSE(use.with_signal.has_value());
  EXPECT_FALSE(use.padding_waste.has_value());
}

TEST(LogFile, WarmUpStepsAreNegative) {
  EventLog log = small_log();
  log.phases[0].step = -1;
  log.spans[0].step = -2;
  log.handovers[0].step = -1;
  LogResult const r = read(log_text(log));
  ASSERT_TRUE(r.log.has_value()) << r.error;
  EXPECT_EQ(r.log->phases[0].step, -1);
  EXPECT_EQ(r.log->spans[0].step, -2);
  EXPECT_EQ(r.log->handovers[0].step, -1);
}

TEST(LogFile, ALogWithoutPricesIsRead) {
  EventLog log = small_log();
  log.pools[0].prices = {};
  LogResult const r = read(log_text(log));
  ASSERT_TRUE(r.log.has_value()) << r.error;
  EXPECT_EQ(sentence(r.log->pools[0].prices), "");
  EXPECT_EQ(render_terminal(analyse(*r.log), {}).find("Prices"), std::string::npos);
}

TEST(LogFile, BadPricesAreNoticed) {
  std::string const text = log_text(small_log());
  EXPECT_NE(error_of(replaced(text, "\"derived\"", "\"guessed\"")).find("'guessed' is no basis of prices"),
            std::string::npos);
  EXPECT_NE(error_of(replaced(text, "[\"prices\",0,", "[\"prices\",1,")).find("a pool of this log"),
            std::string::npos);
}

TEST(LogFile, EveryCutIsNoticed) {
  std::string const text = log_text(small_log());
  for (std::size_t n = 0; n + 1 < text.size(); ++n) {  // the last newline may be missing
    EXPECT_FALSE(read(text.substr(0, n)).log.has_value()) << n;
  }
  EXPECT_TRUE(read(text.substr(0, text.size() - 1)).log.has_value());
}

TEST(LogFile, ForeignFilesAreNamedAsSuch) {
  EXPECT_EQ(error_of(""), "run.log: the file is empty; rollcast run --log writes a log");
  std::string const foreign = "run.log:1: not a Rollcast log; rollcast run --log writes one";
  EXPECT_EQ(error_of("model: llama-3.1-8b\n"), foreign);
  EXPECT_EQ(error_of(std::string("\x7f"
                                 "ELF\0\1\2",
                                 7)),
            foreign);
  EXPECT_EQ(error_of("[1,2,3]\n"), foreign);
  EXPECT_EQ(error_of("{\"traceEvents\":[]}\n"), foreign);
}

TEST(LogFile, ALaterSchemaIsRefused) {
  EXPECT_EQ(error_of(replaced(log_text(small_log()), "\"schema\":1", "\"schema\":2")),
            "run.log:1: the log has schema 2, this program reads 1; read it with the release that wrote it");
}

TEST(LogFile, BadRecordsAreRefusedWithTheirLine) {
  std::string const text = log_text(small_log());
  EXPECT_NE(error_of(replaced(text, "[\"span\",0,", "[\"span\",2,"))
                .find("span record: field 2 is 2, not a rank class of this log"),
            std::string::npos);
  EXPECT_NE(error_of(replaced(text, "[\"span\",0,", "[\"span\",-1,")).find("not a rank class"),
            std::string::npos);
  EXPECT_NE(error_of(replaced(text, "[\"span\",0,", "[\"span\",0.5,")).find("not a rank class"),
            std::string::npos);
  EXPECT_NE(
      error_of(replaced(text, "[\"span\",0,", "[\"span\",18446744073709551615,")).find("not a rank class"),
      std::string::npos);
  EXPECT_NE(error_of(replaced(text, "[\"step\",0,100,", "[\"step\",200,100,")).find("ends before it starts"),
            std::string::npos);
  EXPECT_NE(error_of(replaced(text, "[\"step\",0,100,", "[\"step\",0,1e10,")).find("not a number from 0 to"),
            std::string::npos);
  EXPECT_NE(error_of(replaced(text, "11000,8800", "11000,11001")).find("more useful tokens than computed"),
            std::string::npos);
  EXPECT_NE(error_of(replaced(text, "[6,2],4]", "[6,2],9]")).find("more samples with a signal than samples"),
            std::string::npos);
  EXPECT_NE(error_of(replaced(text, "[6,2],4]", "6,4]")).find("its staleness is not a list"),
            std::string::npos);
  EXPECT_NE(error_of(replaced(text, "\"rollout_tail\"", "\"lunch\"")).find("'lunch' is no activity"),
            std::string::npos);
  EXPECT_NE(
      error_of(replaced(text, "[\"handover\",0,", "[\"hangover\",0,")).find("'hangover' is not a record"),
      std::string::npos);
  EXPECT_NE(error_of(replaced(text, "[\"label\",\"tail\"]\n", "")).find("not a label of this log"),
            std::string::npos);
  EXPECT_NE(error_of(replaced(text, "[\"handover\",1,0,1,180,180,4]\n", "")).find("the end record tells of"),
            std::string::npos);
  EXPECT_NE(error_of(text + "[\"label\",\"more\"]\n").find("something follows the end record"),
            std::string::npos);
}

TEST(LogFile, NestingAndLongLinesCostLittle) {
  std::string const header = log_text(small_log()).substr(0, log_text(small_log()).find('\n') + 1);
  EXPECT_NE(error_of(header + std::string(10'000'000, '[') + "\n").find(":2: nested deeper"),
            std::string::npos);
  EXPECT_NE(error_of(header + std::string(17 << 20, ' ')).find("longer than 16 MiB"), std::string::npos);
}

// Whatever one changed byte makes of the log, it is an error value or a log that every report can show.
TEST(LogFile, ChangedBytesNeverBreakAReport) {
  std::string const text = log_text(small_log());
  int read_back = 0;
  for (std::size_t i = 0; i < text.size(); i += 3) {
    for (char c : {'9', '-', 'e', '"', ']', '\n', '\xff'}) {
      std::string changed = text;
      changed[i] = c;
      LogResult const r = read(changed);
      ASSERT_NE(r.log.has_value(), !r.error.empty());
      if (!r.log) continue;
      ++read_back;
      Analysis const a = analyse(*r.log);
      ASSERT_FALSE(render_terminal(a, {}).empty());
      ASSERT_FALSE(json_text(a).empty());
      ASSERT_FALSE(csv_text(*r.log).empty());
      ASSERT_FALSE(trace_text(*r.log).empty());
      ASSERT_FALSE(log_text(*r.log).empty());
    }
  }
  EXPECT_GT(read_back, 100);
}

TEST(LogFile, UnreadablePathsAreErrors) {
  EXPECT_EQ(read_log_file("/nowhere/run.log").error,
            "/nowhere/run.log: cannot read: No such file or directory");
  EXPECT_FALSE(read_log_file("/tmp").log.has_value());
  EXPECT_FALSE(read_log_file("/tmp").error.empty());
}

TEST(LogFile, NumbersThatAreNotFiniteAreABrokenInvariant) {
  EventLog log = small_log();
  log.spans[0].end = seconds(std::numeric_limits<double>::quiet_NaN());
  EXPECT_THROW(log_text(log), std::logic_error);
}

}  // namespace
}  // namespace rollcast
