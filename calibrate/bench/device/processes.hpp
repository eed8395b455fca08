// The processes of a run: one alone, or those of MPI where the program is built with it.
#pragma once

#include <cstddef>

namespace rollcast {

class Processes {
 public:
  Processes(int* argc, char*** argv);  // starts MPI
  ~Processes();
  Processes(Processes const&) = delete;
  Processes& operator=(Processes const&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  int local_rank() const { return local_rank_; }  // on this node
  int local_size() const { return local_size_; }
  int nodes() const { return nodes_; }

  // Of all processes; every one of them must call.
  int sum(int value) const;
  int sum_before(int value) const;  // of the ranks below this one
  double maximum(double value) const;
  void broadcast(void* data, std::size_t size) const;  // of rank 0
  // Ends every process with this exit code; does nothing where there is one alone.
  void abort(int exit_code) const;

 private:
  int rank_ = 0;
  int size_ = 1;
  int local_rank_ = 0;
  int local_size_ = 1;
  int nodes_ = 1;
};

}  // namespace rollcast
