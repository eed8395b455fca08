// Other programs, started and read.
#include "reports/child_process.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

namespace rollcast {
namespace {

using testing::ElementsAre;

struct Heard {
  ChildEnd end;
  std::vector<std::string> lines;
};

Heard shell(std::string const& script, std::size_t most = 1000000) {
  Heard h;
  h.end = run_child("/bin/sh", {"-c", script}, [&](std::string_view line) {
    h.lines.emplace_back(line);
    return h.lines.size() < most;
  });
  return h;
}

TEST(ChildProcess, LinesAndExitCode) {
  Heard const h = shell("printf 'a\\n\\nb'; exit 3");
  EXPECT_THAT(h.lines, ElementsAre("a", "", "b"));
  EXPECT_EQ(h.end.error, "");
  EXPECT_EQ(h.end.exit_code, 3);
  EXPECT_EQ(h.end.signal, 0);
}

TEST(ChildProcess, ArgumentsArriveAsTheyAre) {
  Heard h;
  h.end = run_child("/bin/echo", {"two words", "$HOME", "'"}, [&](std::string_view line) {
    h.lines.emplace_back(line);
    return true;
  });
  EXPECT_THAT(h.lines, ElementsAre("two words $HOME '"));
}

TEST(ChildProcess, ALongOutputIsReadWhole) {
  Heard const h = shell("i=0; while [ $i -lt 3000 ]; do echo line $i; i=$((i+1)); done");
  ASSERT_EQ(h.lines.size(), 3000U);
  EXPECT_EQ(h.lines.back(), "line 2999");
}

TEST(ChildProcess, InputIsEmpty) { EXPECT_EQ(shell("cat").end.exit_code, 0); }

TEST(ChildProcess, ASignalIsNoExitCode) {
  Heard const h = shell("kill -TERM $$");
  EXPECT_EQ(h.end.exit_code, -1);
  EXPECT_EQ(h.end.signal, SIGTERM);
}

// The program ignores SIGPIPE, as rollcast does; the child must not.
TEST(ChildProcess, WhoIsNotReadAnyMoreEnds) {
  auto* const before = std::signal(SIGPIPE, SIG_IGN);
  Heard const h = shell("while :; do echo more; done", 2);
  std::signal(SIGPIPE, before);
  EXPECT_EQ(h.lines.size(), 2U);
  EXPECT_EQ(h.end.signal, SIGPIPE);
}

TEST(ChildProcess, AMissingProgramIsAnError) {
  ChildEnd const end = run_child("/no/such/program", {}, [](std::string_view) { return true; });
  EXPECT_EQ(end.error, "No such file or directory");
}

}  // namespace
}  // namespace rollcast
