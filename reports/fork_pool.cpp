#include "reports/fork_pool.hpp"

#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <utility>

namespace rollcast {
namespace {

bool send_bytes(int file, char const* data, std::size_t size) {
  while (size > 0) {
    auto const count = ::send(file, data, size, MSG_NOSIGNAL);
    if (count == -1 && errno == EINTR) continue;
    if (count <= 0) return false;
    data += count;
    size -= static_cast<std::size_t>(count);
  }
  return true;
}

bool receive_bytes(int file, char* data, std::size_t size) {
  while (size > 0) {
    auto const count = ::recv(file, data, size, 0);
    if (count == -1 && errno == EINTR) continue;
    if (count <= 0) return false;
    data += count;
    size -= static_cast<std::size_t>(count);
  }
  return true;
}

// A message is its size (8 bytes of this machine) and its bytes.
bool send_message(int file, std::string const& text) {
  std::uint64_t const size = text.size();
  std::array<char, sizeof size> head{};
  std::memcpy(head.data(), &size, sizeof size);
  return send_bytes(file, head.data(), head.size()) && send_bytes(file, text.data(), text.size());
}

std::optional<std::string> receive_message(int file) {
  std::uint64_t size = 0;
  std::array<char, sizeof size> head{};
  if (!receive_bytes(file, head.data(), head.size())) return std::nullopt;
  std::memcpy(&size, head.data(), sizeof size);
  std::string text(size, '\0');
  if (!receive_bytes(file, text.data(), text.size())) return std::nullopt;
  return text;
}

// This process ends when its parent does, however that ends.
void end_with_parent(pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
}

[[noreturn]] void serve(int socket, std::function<std::string(std::string const&)> const& body,
                        std::function<void(std::string const&)> const& prepare) {
  while (auto const task = receive_message(socket)) {
    try {
      if (prepare) prepare(*task);
    } catch (std::exception const&) {
    }
    pid_t const self = ::getpid();
    ApartResult const result = run_apart([&] {
      end_with_parent(self);
      return body(*task);
    });
    if (!send_message(socket, result.text) || !send_message(socket, result.error)) break;
  }
  ::_exit(0);
}

}  // namespace

ForkPool::ForkPool(int workers, std::function<std::string(std::string const& task)> body,
                   std::function<void(std::string const& task)> const& prepare) {
  pid_t const self = ::getpid();
  for (int i = 0; i < std::max(1, workers); ++i) {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) break;
    pid_t const process = ::fork();
    if (process == 0) {
      end_with_parent(self);
      ::close(ends[0]);
      for (Worker const& other : workers_) ::close(other.socket);
      serve(ends[1], body, prepare);
    }
    ::close(ends[1]);
    if (process == -1) {
      ::close(ends[0]);
      break;
    }
    workers_.push_back({ends[0], process, false, 0});
  }
  if (workers_.empty())
    throw std::runtime_error(std::string("cannot start another process: ") + std::strerror(errno));
}

ForkPool::~ForkPool() {
  for (Worker& w : workers_) {
    if (w.socket == -1) continue;
    ::kill(w.process, SIGKILL);  // its child goes with it
    abandon(w);
  }
}

void ForkPool::abandon(Worker& worker) {
  ::close(worker.socket);
  worker.socket = -1;
  while (::waitpid(worker.process, nullptr, 0) == -1 && errno == EINTR) {
  }
}

void ForkPool::submit(std::size_t id, std::string task) {
  waiting_.push_back({id, std::move(task)});
  start_tasks();
}

void ForkPool::start_tasks() {
  constexpr char kGone[] = "the process that was to run it has ended";
  for (Worker& w : workers_) {
    if (waiting_.empty()) return;
    if (w.busy || w.socket == -1) continue;
    Task const task = std::move(waiting_.front());
    waiting_.pop_front();
    if (send_message(w.socket, task.text)) {
      w.busy = true;
      w.task = task.id;
      ++running_;
    } else {
      abandon(w);
      lost_.push_back({task.id, {"", kGone}});
    }
  }
  if (std::any_of(workers_.begin(), workers_.end(), [](Worker const& w) { return w.socket != -1; })) return;
  for (Task const& task : waiting_) lost_.push_back({task.id, {"", kGone}});
  waiting_.clear();
}

// The busy workers that have something to say, waited for at most so long; -1: until there is one.
std::vector<ForkPool::Worker*> ForkPool::answering(int milliseconds) {
  std::vector<pollfd> files;
  std::vector<Worker*> busy;
  for (Worker& w : workers_) {
    if (!w.busy) continue;
    files.push_back({w.socket, POLLIN, 0});
    busy.push_back(&w);
  }
  while (::poll(files.data(), files.size(), milliseconds) == -1) {
    if (errno != EINTR) throw std::runtime_error(std::string("poll: ") + std::strerror(errno));
  }
  std::vector<Worker*> ready;
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (files[i].revents != 0) ready.push_back(busy[i]);
  }
  return ready;
}

bool ForkPool::ready(int milliseconds) {
  start_tasks();
  return !lost_.empty() || running_ == 0 || !answering(milliseconds).empty();
}

std::optional<FinishedTask> ForkPool::next() {
  start_tasks();
  if (!lost_.empty()) {
    FinishedTask task = std::move(lost_.front());
    lost_.pop_front();
    return task;
  }
  if (running_ == 0) return std::nullopt;
  std::vector<Worker*> const ready = answering(-1);
  if (ready.empty()) throw std::logic_error("ForkPool::next: poll told of no file");
  Worker& w = *ready.front();
  w.busy = false;
  --running_;
  auto text = receive_message(w.socket);
  auto error = text ? receive_message(w.socket) : std::nullopt;
  FinishedTask done{w.task, {}};
  if (error) {
    done.result = {std::move(*text), std::move(*error)};
  } else {
    abandon(w);
    done.result.error = "the process that ran it has ended";
  }
  start_tasks();
  return done;
}

std::vector<ApartResult> run_all(ForkPool& pool, std::vector<std::string> const& tasks) {
  std::vector<ApartResult> results(tasks.size());
  for (std::size_t i = 0; i < tasks.size(); ++i) pool.submit(i, tasks[i]);
  while (auto done = pool.next()) results.at(done->id) = std::move(done->result);
  return results;
}

int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

}  // namespace rollcast
