#include "reports/child_process.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

extern char** environ;

namespace rollcast {
namespace {

class FileActions {
 public:
  FileActions() { posix_spawn_file_actions_init(&actions_); }
  ~FileActions() { posix_spawn_file_actions_destroy(&actions_); }
  FileActions(FileActions const&) = delete;
  FileActions& operator=(FileActions const&) = delete;
  posix_spawn_file_actions_t* get() { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

// This process ignores SIGPIPE; a child that inherits that would not notice that nobody reads any more.
class DefaultSignals {
 public:
  DefaultSignals() {
    posix_spawnattr_init(&attributes_);
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGPIPE);
    posix_spawnattr_setsigdefault(&attributes_, &signals);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGDEF);
  }
  ~DefaultSignals() { posix_spawnattr_destroy(&attributes_); }
  DefaultSignals(DefaultSignals const&) = delete;
  DefaultSignals& operator=(DefaultSignals const&) = delete;
  posix_spawnattr_t* get() { return &attributes_; }

 private:
  posix_spawnattr_t attributes_{};
};

// Closes the output and waits for the child, also when on_line throws.
class Child {
 public:
  Child(pid_t pid, int output) : pid_(pid), output_(output) {}
  ~Child() { static_cast<void>(finish()); }
  Child(Child const&) = delete;
  Child& operator=(Child const&) = delete;

  int output() const { return output_; }

  // Status of waitpid.
  int finish() {
    if (output_ >= 0) ::close(output_);
    output_ = -1;
    int status = 0;
    while (pid_ > 0 && ::waitpid(pid_, &status, 0) == -1 && errno == EINTR) {
    }
    pid_ = -1;
    return status;
  }

 private:
  pid_t pid_;
  int output_;
};

void read_lines(int file, std::function<bool(std::string_view)> const& on_line) {
  std::string rest;
  std::array<char, 4096> buffer{};
  while (true) {
    auto const count = ::read(file, buffer.data(), buffer.size());
    if (count == -1 && errno == EINTR) continue;
    if (count <= 0) break;
    rest.append(buffer.data(), static_cast<std::size_t>(count));
    std::size_t begin = 0;
    for (auto end = rest.find('\n'); end != std::string::npos; end = rest.find('\n', begin)) {
      if (!on_line(std::string_view(rest).substr(begin, end - begin))) return;
      begin = end + 1;
    }
    rest.erase(0, begin);
  }
  if (!rest.empty()) on_line(rest);
}

}  // namespace

ChildEnd run_child(std::string const& path, std::vector<std::string> const& arguments,
                   std::function<bool(std::string_view line)> const& on_line) {
  ChildEnd end;
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    end.error = std::strerror(errno);
    return end;
  }
  FileActions actions;
  posix_spawn_file_actions_addopen(actions.get(), STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(actions.get(), ends[1], STDOUT_FILENO);
  std::vector<std::string> words = {path};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& w : words) argv.push_back(w.data());
  argv.push_back(nullptr);
  DefaultSignals signals;
  pid_t pid = -1;
  int const failure = ::posix_spawn(&pid, path.c_str(), actions.get(), signals.get(), argv.data(), environ);
  ::close(ends[1]);
  if (failure != 0) {
    ::close(ends[0]);
    end.error = std::strerror(failure);
    return end;
  }
  Child child(pid, ends[0]);
  read_lines(child.output(), on_line);
  int const status = child.finish();
  if (WIFEXITED(status)) end.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) end.signal = WTERMSIG(status);
  return end;
}

}  // namespace rollcast
