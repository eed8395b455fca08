// Texts between the ranks that mpirun started. Where the program was built without MPI there are none.
#pragma once

#include <list>
#include <memory>
#include <optional>
#include <string>

namespace rollcast {

// What the environment says before MPI is started: Open MPI's variables, or those of PMI.
struct MpiPlace {
  int rank = 0;
  int size = 1;
};
// nullopt: this program was not started by mpirun.
std::optional<MpiPlace> mpi_place();

// Whether this program was built with MPI.
bool knows_mpi();

// From its construction to its end MPI is in use, so processes are forked before. One in a process. A rank
// that dies ends all (MPI's default).
class MpiRanks {
 public:
  MpiRanks();  // std::logic_error without MPI
  ~MpiRanks();
  MpiRanks(MpiRanks const&) = delete;
  MpiRanks& operator=(MpiRanks const&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  // Does not wait until it is received. Texts from one rank to another come in their order.
  void send(int to, std::string text);
  struct Message {
    int from = 0;
    std::string text;
  };
  // Nothing where none has come.
  std::optional<Message> receive();

 private:
  struct Sending;
  int rank_ = 0;
  int size_ = 1;
  std::list<std::unique_ptr<Sending>> under_way_;
};

}  // namespace rollcast
