// How far a long piece of work is, on standard error where that is a terminal.
#pragma once

#include <chrono>
#include <cstddef>

namespace rollcast {

// "120/1000 points, 98.2/s, 9 s left", rewritten in place five times a second; the rate is that since the
// first call. The line is wiped at the end.
class ProgressLine {
 public:
  explicit ProgressLine(std::size_t total);
  ~ProgressLine();
  ProgressLine(ProgressLine const&) = delete;
  ProgressLine& operator=(ProgressLine const&) = delete;
  void show(std::size_t done);

 private:
  using Clock = std::chrono::steady_clock;
  bool terminal_;
  std::size_t total_;
  bool begun_ = false;
  std::size_t first_ = 0;
  Clock::time_point start_;
  Clock::time_point shown_;
};

}  // namespace rollcast
