// Runs one command of the program inside the test, with its streams captured.
#pragma once

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <vector>

namespace rollcast {

struct CommandRun {
  int exit_code = 0;
  std::string out;
  std::string err;
};

inline CommandRun run_command(void (*add)(CLI::App&, int&), std::vector<std::string> words) {
  CLI::App app("rollcast");
  CommandRun r;
  add(app, r.exit_code);
  std::reverse(words.begin(), words.end());
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  app.parse(words);
  r.out = testing::internal::GetCapturedStdout();
  r.err = testing::internal::GetCapturedStderr();
  return r;
}

}  // namespace rollcast
