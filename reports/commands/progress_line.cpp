#include "reports/commands/progress_line.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "models/units.hpp"

namespace rollcast {
namespace {

constexpr auto kEvery = std::chrono::milliseconds(200);

}  // namespace

ProgressLine::ProgressLine(std::size_t total) : terminal_(::isatty(STDERR_FILENO) == 1), total_(total) {}

ProgressLine::~ProgressLine() {
  if (terminal_ && begun_) std::fputs("\r\033[K", stderr);
}

void ProgressLine::show(std::size_t done) {
  if (!terminal_) return;
  auto const now = Clock::now();
  if (!begun_) {
    begun_ = true;
    first_ = done;
    start_ = now;
  } else if (now - shown_ < kEvery) {
    return;
  }
  shown_ = now;
  std::string line = fmt::format("\r\033[K{}/{} points", done, total_);
  double const seconds = std::chrono::duration<double>(now - start_).count();
  if (done > first_ && seconds > 0) {
    double const rate = static_cast<double>(done - first_) / seconds;
    line +=
        fmt::format(", {:.3g}/s, {} left", rate, format(Seconds(static_cast<double>(total_ - done) / rate)));
  }
  std::fputs(line.c_str(), stderr);
  std::fflush(stderr);
}

}  // namespace rollcast
