#include "reports/terminal.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "reports/text_layout.hpp"
#include "tests/reports/golden.hpp"
#include "tests/reports/small_log.hpp"

namespace rollcast {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(Terminal, GoldenReport) {
  expect_golden(render_terminal(analyse(small_log()), {}), "terminal_small.txt");
}

TEST(Terminal, VerdictIsTheFirstLine) {
  std::string const text = render_terminal(analyse(small_log()), {});
  EXPECT_EQ(text.substr(0, text.find('\n')), verdict(analyse(small_log())));
  // Means of 70, 30 and 10 s out of 110 s; 75 of 80 GiB.
  EXPECT_EQ(
      verdict(analyse(small_log())),
      "One step takes 110 s (p10-p90 102 s to 118 s) on 4 x h100-sxm: generate 64 %, update_actor 27 %, "
      "weight_sync 9.1 %; memory peak 75.0 GiB of 80.0 GiB in update_actor.");
}

TEST(Terminal, OutcomesSayWhatHappened) {
  EventLog log = small_log_with_oom();
  EXPECT_EQ(
      verdict(analyse(log)),
      "Out of memory (torch): rank 3 of main in update_actor of step 1 at 61.2 s: logits needs 4.00 GiB, "
      "1.00 GiB is free.");
  log.ooms.clear();
  log.outcome = Outcome::refused;
  log.outcome_reason = "no page of KV memory is left";
  EXPECT_EQ(verdict(analyse(log)), "The engine refuses to start: no page of KV memory is left.");
  EXPECT_EQ(verdict(analyse(EventLog{})), "The run completed no step.");
}

TEST(Terminal, SamplesAreTalkedOfWhereThereIsSomethingToSay) {
  // 16 of 20 trained, 8 of 16 with a signal, 4 of 16 one update old, 20 % padding.
  TerminalOptions wide;
  wide.width = 240;
  EXPECT_THAT(
      render_terminal(analyse(small_log()), wide),
      HasSubstr("\nSamples: staleness 0.25 weight updates (0: 75 %, 1: 25 %), 80 % of the generated ones are "
                "trained on, 50 % of the trained ones have a signal, 20 % of the tokens of the update are "
                "padding.\n"));
  EventLog log = small_log();
  for (StepRecord& s : log.steps) {
    s.generated_samples = s.samples;
    s.staleness = {8};
    s.signal_samples.reset();
    s.useful_tokens = s.computed_tokens;
  }
  EXPECT_EQ(render_terminal(analyse(log), {}).find("Samples: "), std::string::npos);
}

TEST(Terminal, TheWarmUpHasNoNumber) {
  EventLog log = small_log_with_oom();
  log.ooms[0].step = -1;
  EXPECT_THAT(verdict(analyse(log)), HasSubstr("in update_actor of the warm-up at 61.2 s"));
}

TEST(Terminal, LinesKeepToTheWidth) {
  EventLog log = small_log();
  log.notes.push_back(std::string(40, 'x') + " " + std::string(40, 'y') + " " + std::string(40, 'z'));
  for (int width : {80, 100, 140}) {
    TerminalOptions options;
    options.width = width;
    std::istringstream lines(render_terminal(analyse(log), options));
    std::string line;
    std::getline(lines, line);  // the verdict may be longer
    while (std::getline(lines, line)) EXPECT_LE(line.size(), static_cast<std::size_t>(width)) << line;
  }
}

TEST(Terminal, ColourIsAddedAndNothingElseChanges) {
  TerminalOptions colour;
  colour.colour = true;
  std::string text = render_terminal(analyse(small_log()), colour);
  EXPECT_THAT(text, StartsWith("\x1b[1mOne step takes"));
  for (auto at = text.find('\x1b'); at != std::string::npos; at = text.find('\x1b'))
    text.erase(at, text.find('m', at) - at + 1);
  EXPECT_EQ(text, render_terminal(analyse(small_log()), {}));
}

TEST(Terminal, NamesCannotDriveTheTerminal) {
  EventLog log = small_log();
  log.scenario = "evil\x1b[2J";
  log.pools[0].gpu = "card\x07";
  log.notes = {"line\nbreak"};
  std::string const text = render_terminal(analyse(log), {});
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find('\x07'), std::string::npos);
  EXPECT_THAT(text, HasSubstr("evil?[2J"));
  EXPECT_THAT(text, HasSubstr("line?break"));
}

TEST(Terminal, MeasuredErrorsAreOfTheMeasuredValue) {
  // 110 s beside 100 s; generate 70 s beside 100 s.
  std::string const text = render_terminal(analyse(small_log()), {});
  EXPECT_THAT(text, HasSubstr("+10.0 %"));
  EXPECT_THAT(text, HasSubstr("-30.0 %"));
  EXPECT_THAT(text, HasSubstr("3      none\n"));
}

TEST(TextLayout, BarsAndPercents) {
  EXPECT_EQ(bar(0.5, 4), "##..");
  EXPECT_EQ(bar(0.001, 4), "#...");
  EXPECT_EQ(bar(7, 3), "###");
  EXPECT_EQ(percent(0.0996), "10 %");
  EXPECT_EQ(percent(0.031), "3.1 %");
  EXPECT_EQ(percent(0), "0 %");
}

TEST(TextLayout, BreaksBetweenItemsOnly) {
  EXPECT_EQ(wrapped({"aaaa", "bbbb", "cccc"}, ", ", 2, 13), "aaaa, bbbb,\n  cccc\n");
  EXPECT_EQ(wrapped({}, ", ", 2, 13), "\n");
  EXPECT_EQ(words_of("  one  two "), (std::vector<std::string>{"one", "two"}));
}

}  // namespace
}  // namespace rollcast
