// Where the tasks of a sweep run: the pool of this process and, under mpirun, those of the other ranks. Rank
// 0 hands the tasks out as texts and gets texts back; the others serve until it lets them go.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "reports/fork_pool.hpp"
#include "reports/mpi_ranks.hpp"

namespace rollcast {

// How many tasks a pool is given at a time: one more for each helper than it runs, so that none waits.
inline constexpr int kTasksPerHelper = 2;

// Of rank 0, or of a program that is alone (ranks: nullptr). The other ranks go when it does.
class SweepWorkers {
 public:
  // identity: of the sweep; a rank with another one gets no task.
  SweepWorkers(ForkPool& pool, int helpers, MpiRanks* ranks, std::string identity);
  ~SweepWorkers();
  SweepWorkers(SweepWorkers const&) = delete;
  SweepWorkers& operator=(SweepWorkers const&) = delete;

  bool takes_more() const;
  void submit(std::size_t id, std::string task);  // only when takes_more()
  // Nothing where none ends within `milliseconds`. std::runtime_error when a rank has another identity.
  std::optional<FinishedTask> next(int milliseconds);

 private:
  std::optional<FinishedTask> receive();

  ForkPool& pool_;
  MpiRanks* ranks_;
  std::string identity_;
  std::vector<int> free_;  // tasks that a rank still takes
};

// What a rank but 0 does until rank 0 is done.
void serve_sweep(ForkPool& pool, int helpers, MpiRanks& ranks, std::string const& identity);

}  // namespace rollcast
