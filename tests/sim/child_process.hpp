// SimGrid allows one simulation per process, so tests run theirs in a forked child.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <vector>

namespace rollcast {

// Runs body() in a child and returns the numbers it gives. EXPECT_* inside the child fail the test here; so
// do an exception and a signal.
template <class Body>
std::vector<double> in_child(Body body) {
  int ends[2] = {-1, -1};
  if (pipe(ends) != 0) throw std::runtime_error("no pipe");
  std::fflush(nullptr);
  pid_t const child = fork();
  if (child == 0) {
    close(ends[0]);
    int status = 1;
    try {
      std::vector<double> const numbers = body();
      auto const size = numbers.size() * sizeof(double);
      auto const* at = reinterpret_cast<char const*>(numbers.data());
      for (std::size_t sent = 0; sent < size;) {
        auto const n = write(ends[1], at + sent, size - sent);
        if (n <= 0) break;
        sent += static_cast<std::size_t>(n);
      }
      status = testing::Test::HasFailure() ? 1 : 0;
    } catch (std::exception const& e) {
      std::fprintf(stderr, "exception in the child: %s\n", e.what());
    }
    std::fflush(nullptr);
    _exit(status);
  }
  close(ends[1]);
  std::vector<double> numbers;
  std::vector<char> bytes;
  char buffer[4096];
  for (ssize_t n = 0; (n = read(ends[0], buffer, sizeof buffer)) > 0;)
    bytes.insert(bytes.end(), buffer, buffer + n);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "the child failed, status " << status;
  numbers.resize(bytes.size() / sizeof(double));
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(numbers.data()));
  return numbers;
}

}  // namespace rollcast
