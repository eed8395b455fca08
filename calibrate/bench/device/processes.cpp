#include "calibrate/bench/device/processes.hpp"

#ifdef ROLLCAST_WITH_MPI

#include <mpi.h>

#include <stdexcept>

namespace rollcast {

// MPI's default error handler ends the run, so its return values hold no news.
Processes::Processes(int* argc, char*** argv) {
  int provided = 0;
  MPI_Init_thread(argc, argv, MPI_THREAD_SERIALIZED, &provided);
  if (provided < MPI_THREAD_SERIALIZED) throw std::runtime_error("MPI without thread support");
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, &local_rank_);
  MPI_Comm_size(node, &local_size_);
  MPI_Comm_free(&node);
  nodes_ = sum(local_rank_ == 0 ? 1 : 0);
}
Processes::~Processes() { MPI_Finalize(); }

int Processes::sum(int value) const {
  int total = 0;
  MPI_Allreduce(&value, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  return total;
}

int Processes::sum_before(int value) const {
  int before = 0;
  MPI_Exscan(&value, &before, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  return rank_ == 0 ? 0 : before;  // rank 0 gets nothing from it
}

double Processes::maximum(double value) const {
  double most = 0;
  MPI_Allreduce(&value, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return most;
}

void Processes::broadcast(void* data, std::size_t size) const {
  MPI_Bcast(data, static_cast<int>(size), MPI_BYTE, 0, MPI_COMM_WORLD);
}

void Processes::abort(int exit_code) const {
  if (size_ > 1) MPI_Abort(MPI_COMM_WORLD, exit_code);
}

}  // namespace rollcast

#else

namespace rollcast {

Processes::Processes(int*, char***) {}
Processes::~Processes() = default;
int Processes::sum(int value) const { return value; }
int Processes::sum_before(int) const { return 0; }
double Processes::maximum(double value) const { return value; }
void Processes::broadcast(void*, std::size_t) const {}
void Processes::abort(int) const {}

}  // namespace rollcast

#endif
