#include "reports/mpi_ranks.hpp"

#ifdef ROLLCAST_WITH_MPI
#include <mpi.h>
#endif

#include <cstdlib>
#include <stdexcept>
#include <utility>

namespace rollcast {

std::optional<MpiPlace> mpi_place() {
  for (auto const& [size, rank] :
       {std::pair("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"), std::pair("PMI_SIZE", "PMI_RANK")}) {
    char const* const ranks = std::getenv(size);
    char const* const own = std::getenv(rank);
    if (ranks != nullptr && own != nullptr) return MpiPlace{std::atoi(own), std::atoi(ranks)};
  }
  return std::nullopt;
}

#ifdef ROLLCAST_WITH_MPI

struct MpiRanks::Sending {
  std::string text;
  MPI_Request request{};
};

bool knows_mpi() { return true; }

// MPI's default is to end the program where a call fails, so no call is checked.
MpiRanks::MpiRanks() {
  MPI_Init(nullptr, nullptr);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
}

MpiRanks::~MpiRanks() {
  for (auto const& s : under_way_) MPI_Wait(&s->request, MPI_STATUS_IGNORE);
  MPI_Finalize();
}

void MpiRanks::send(int to, std::string text) {
  under_way_.remove_if([](auto const& s) {
    int done = 0;
    MPI_Test(&s->request, &done, MPI_STATUS_IGNORE);
    return done != 0;
  });
  under_way_.push_back(std::make_unique<Sending>(Sending{std::move(text), {}}));
  Sending& s = *under_way_.back();
  MPI_Isend(s.text.data(), static_cast<int>(s.text.size()), MPI_CHAR, to, 0, MPI_COMM_WORLD, &s.request);
}

std::optional<MpiRanks::Message> MpiRanks::receive() {
  int there = 0;
  MPI_Status status;
  MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &there, &status);
  if (there == 0) return std::nullopt;
  int size = 0;
  MPI_Get_count(&status, MPI_CHAR, &size);
  Message m{status.MPI_SOURCE, std::string(static_cast<std::size_t>(size), '\0')};
  MPI_Recv(m.text.data(), size, MPI_CHAR, m.from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return m;
}

#else

struct MpiRanks::Sending {};

bool knows_mpi() { return false; }
MpiRanks::MpiRanks() { throw std::logic_error("MpiRanks: this program was built without MPI"); }
MpiRanks::~MpiRanks() = default;
void MpiRanks::send(int, std::string) {}
std::optional<MpiRanks::Message> MpiRanks::receive() { return std::nullopt; }

#endif

}  // namespace rollcast
