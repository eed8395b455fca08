// Tasks over several processes. SimGrid allows one simulation per process, and a process with threads, MPI or
// an open data base must not fork: so each worker is a small helper, forked when the pool is made, that forks
// one child per task and waits for it.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "reports/run_apart.hpp"

namespace rollcast {

struct FinishedTask {
  std::size_t id = 0;
  ApartResult result;
};

class ForkPool {
 public:
  // body: what a child makes of a task; it has what this process holds now. Make the pool before MPI, SQLite
  // and any thread. workers >= 1. std::runtime_error where no process can be made.
  // prepare: what a helper does with a task before it forks the child; what it leaves in memory that child
  // and all later children have. An exception is passed over: the child will meet it.
  ForkPool(int workers, std::function<std::string(std::string const& task)> body,
           std::function<void(std::string const& task)> const& prepare = {});
  // Ends the helpers, and what they still run.
  ~ForkPool();
  ForkPool(ForkPool const&) = delete;
  ForkPool& operator=(ForkPool const&) = delete;

  // Tasks start in this order, as workers come free.
  void submit(std::size_t id, std::string task);
  // Waits for the next task that ends, in whatever order; nothing when all have been handed over. A helper
  // that is gone gives an error for its task; when none is left, every task that waits gets one.
  std::optional<FinishedTask> next();
  // Waits at most so long for next() to have its answer at once.
  bool ready(int milliseconds);
  std::size_t unfinished() const { return waiting_.size() + running_ + lost_.size(); }

 private:
  struct Task {
    std::size_t id = 0;
    std::string text;
  };
  struct Worker {
    int socket = -1;  // -1: gone
    pid_t process = -1;
    bool busy = false;
    std::size_t task = 0;
  };
  void start_tasks();
  std::vector<Worker*> answering(int milliseconds);
  void abandon(Worker& worker);

  std::vector<Worker> workers_;
  std::deque<Task> waiting_;
  std::deque<FinishedTask> lost_;
  std::size_t running_ = 0;
};

// The results in the order of the tasks.
std::vector<ApartResult> run_all(ForkPool& pool, std::vector<std::string> const& tasks);

// Cores that this process may use, at least 1.
int usable_cores();

}  // namespace rollcast
