#include "reports/run_apart.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <stdexcept>

namespace rollcast {
namespace {

using testing::HasSubstr;

TEST(RunApart, BringsTheTextBack) {
  ApartResult const r = run_apart([] { return std::string("what came out"); });
  EXPECT_EQ(r.text, "what came out");
  EXPECT_EQ(r.error, "");
}

TEST(RunApart, AnEmptyTextIsNoError) {
  ApartResult const r = run_apart([] { return std::string(); });
  EXPECT_EQ(r.text, "");
  EXPECT_EQ(r.error, "");
}

// More than a pipe holds (64 KiB).
TEST(RunApart, ALongTextComesWhole) {
  std::string const text(1'000'000, 'x');
  EXPECT_EQ(run_apart([&] { return text; }).text, text);
}

TEST(RunApart, WhatTheChildChangesStaysThere) {
  int value = 1;
  EXPECT_EQ(run_apart([&] { return std::to_string(++value); }).text, "2");
  EXPECT_EQ(value, 1);
}

TEST(RunApart, AnExceptionIsAnError) {
  ApartResult const r = run_apart([]() -> std::string { throw std::runtime_error("a broken invariant"); });
  EXPECT_EQ(r.text, "");
  EXPECT_EQ(r.error, "a broken invariant");
}

TEST(RunApart, ADeadChildIsAnError) {
  ApartResult const killed = run_apart([] {
    std::raise(SIGKILL);
    return std::string("never");
  });
  EXPECT_EQ(killed.text, "");
  EXPECT_THAT(killed.error, HasSubstr("signal 9"));
  ApartResult const gone = run_apart([]() -> std::string { ::_exit(3); });
  EXPECT_THAT(gone.error, HasSubstr("exit code 3"));
}

}  // namespace
}  // namespace rollcast
