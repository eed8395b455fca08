#include "reports/run_apart.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <exception>
#include <string_view>

namespace rollcast {
namespace {

constexpr char kGood = '+';  // the first byte tells a text from a message
constexpr char kBad = '-';

bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    auto const count = ::write(file, text.data(), text.size());
    if (count == -1 && errno == EINTR) continue;
    if (count <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

std::string read_all(int file) {
  std::string out;
  std::array<char, 4096> buffer{};
  while (true) {
    auto const count = ::read(file, buffer.data(), buffer.size());
    if (count == -1 && errno == EINTR) continue;
    if (count <= 0) return out;
    out.append(buffer.data(), static_cast<std::size_t>(count));
  }
}

// Ends without the destructors and buffers that belong to the parent.
[[noreturn]] void answer(int file, std::function<std::string()> const& body) {
  std::string text;
  try {
    text = kGood + body();
  } catch (std::exception const& e) {
    text = kBad + std::string(e.what());
  }
  ::_exit(write_all(file, text) ? 0 : 1);
}

std::string ending(int status) {
  if (WIFSIGNALED(status))
    return fmt::format("its process was ended by signal {} ({})", WTERMSIG(status),
                       ::strsignal(WTERMSIG(status)));
  return fmt::format("its process ended with exit code {}", WEXITSTATUS(status));
}

}  // namespace

ApartResult run_apart(std::function<std::string()> const& body) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return {"", std::strerror(errno)};
  pid_t const child = ::fork();
  if (child == -1) {
    std::string const error = std::strerror(errno);
    ::close(ends[0]);
    ::close(ends[1]);
    return {"", error};
  }
  if (child == 0) {
    ::close(ends[0]);
    answer(ends[1], body);
  }
  ::close(ends[1]);
  std::string text = read_all(ends[0]);
  ::close(ends[0]);
  int status = 0;
  while (::waitpid(child, &status, 0) == -1 && errno == EINTR) {
  }
  bool const ended_well = WIFEXITED(status) && WEXITSTATUS(status) == 0 && !text.empty();
  if (!ended_well) return {"", ending(status)};
  bool const good = text.front() == kGood;
  text.erase(0, 1);
  return good ? ApartResult{std::move(text), ""} : ApartResult{"", std::move(text)};
}

}  // namespace rollcast
