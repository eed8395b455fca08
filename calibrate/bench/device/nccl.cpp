// rollcast_bench_nccl: NCCL's collectives over every GPU of the node, or of all nodes when started by MPI and
// built with it. One thread per GPU of a process: a process alone takes every GPU of its node, several on a
// node share them. bf16, out of place; the time is that of the slowest rank.
//
// Sizes as models/prices.hpp counts them: all_reduce, broadcast and send_recv the buffer; all_gather and
// reduce_scatter the total over ranks; all_to_all the buffer of one rank. send_recv: every rank sends to the
// next and receives from the one before.
#include <nccl.h>

#include <algorithm>
#include <barrier>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include "calibrate/bench/collective_sizes.hpp"
#include "calibrate/bench/device/device.hpp"
#include "calibrate/bench/device/kernels.hpp"
#include "calibrate/bench/device/processes.hpp"
#include "calibrate/bench/device/program.hpp"
#include "calibrate/bench/rotation.hpp"

namespace rollcast {

inline void check(ncclResult_t status, char const* call) {
  if (status == ncclSuccess) return;
  throw std::runtime_error(std::string(call) + ": " + ncclGetErrorString(status) + ", " +
                           ncclGetLastError(nullptr));
}

namespace {

constexpr std::int64_t kElement = 2;  // bf16
constexpr std::int64_t kAlignment = 256;
constexpr Seconds kSample = ms(5);
constexpr double kCaches = 4;
constexpr int kMostSamples = 1000000;

// What the ranks of this process share.
struct Team {
  NcclOptions const& options;
  Processes const& processes;
  ncclUniqueId id{};
  int first = 0;  // rank of the first GPU of this process
  int local = 1;
  int ranks = 1;
  std::barrier<> barrier;
  std::vector<double> times;  // one per local rank
  double slowest = 0;
  SampleWriter* writer = nullptr;  // rank 0
};

// One rank: a GPU, its buffers, its place in the communicator. Every function is called by all ranks.
class Rank {
 public:
  Rank(Team& team, int local, int device_index)
      : team_(team), local_(local), device_(open_device(device_index)) {
    auto const cache = static_cast<std::int64_t>(kCaches * device_.l2.value);
    size_ = std::max(team.options.largest, cache) + kAlignment;
    send_ = DeviceBuffer(static_cast<std::size_t>(size_));
    receive_ = DeviceBuffer(static_cast<std::size_t>(size_));
    fill_bf16(reinterpret_cast<std::uint16_t*>(send_.data()), static_cast<std::size_t>(size_ / kElement),
              static_cast<std::uint64_t>(rank()), stream_.get());
    stream_.synchronize();
    ROLLCAST_CHECK(ncclCommInitRank(&communicator_, team.ranks, team.id, rank()));
  }
  ~Rank() {
    if (communicator_ != nullptr) ncclCommDestroy(communicator_);
  }
  Rank(Rank const&) = delete;
  Rank& operator=(Rank const&) = delete;

  void run() {
    for (std::string const& operation : team_.options.operations) {
      for (std::int64_t const bytes : doubled_sizes(team_.options.smallest, team_.options.largest)) {
        std::int64_t const elements = message_elements(operation, bytes, kElement, team_.ranks);
        if (elements > 0) measure(operation, elements);
      }
    }
  }

 private:
  int rank() const { return team_.first + local_; }

  void measure(std::string const& operation, std::int64_t elements) {
    RunOptions const& o = team_.options.run;
    timed(operation, elements, o.warmup);
    Seconds const once(timed(operation, elements, o.warmup));
    int const launches = launches_per_sample(once, kSample, 1);
    int samples = o.repeats;
    if (o.sustained) {
      // Every rank comes to the same number: `once` is the maximum over all of them.
      double const wanted = o.duration / (once * launches);
      samples = std::max(samples, static_cast<int>(std::min<double>(wanted, kMostSamples)));
    }
    std::vector<double> times;
    for (int i = 0; i < samples; ++i) {
      double const time = timed(operation, elements, launches);
      if (!o.sustained || i >= samples / 2) times.push_back(time);
    }
    if (team_.writer == nullptr || local_ != 0) return;
    team_.writer->row({operation,
                       o.sustained ? "nccl_sustained" : "nccl",
                       "bf16",
                       {double(elements * kElement), double(team_.ranks), double(team_.processes.nodes())},
                       spread_of(times),
                       team_.processes.nodes() > 1 ? team_.options.fabric : ""});
  }

  // Seconds of one of `launches` in a row, of the slowest rank. They walk through the buffers, which are
  // larger than the L2.
  double timed(std::string const& operation, std::int64_t elements, int launches) {
    std::int64_t const step = (elements * kElement + kAlignment - 1) / kAlignment * kAlignment;
    std::int64_t const places = std::max<std::int64_t>(1, size_ / step);
    team_.barrier.arrive_and_wait();
    start_.record(stream_.get());
    for (int i = 0; i < launches; ++i) enqueue(operation, elements, i % places * step);
    stop_.record(stream_.get());
    stop_.synchronize();
    ncclResult_t asynchronous = ncclSuccess;
    ROLLCAST_CHECK(ncclCommGetAsyncError(communicator_, &asynchronous));
    check(asynchronous, "ncclCommGetAsyncError");
    team_.times[static_cast<std::size_t>(local_)] = time_between(start_, stop_).value / launches;
    team_.barrier.arrive_and_wait();
    if (local_ == 0) {
      team_.slowest = team_.processes.maximum(*std::max_element(team_.times.begin(), team_.times.end()));
    }
    team_.barrier.arrive_and_wait();
    return team_.slowest;
  }

  void enqueue(std::string const& operation, std::int64_t elements, std::int64_t offset) {
    std::byte const* const from = send_.data() + offset;
    std::byte* const to = receive_.data() + offset;
    auto const all = static_cast<std::size_t>(elements);
    std::size_t const part = all / static_cast<std::size_t>(team_.ranks);
    cudaStream_t const stream = stream_.get();
    if (operation == "all_reduce") {
      ROLLCAST_CHECK(ncclAllReduce(from, to, all, ncclBfloat16, ncclSum, communicator_, stream));
    } else if (operation == "all_gather") {
      ROLLCAST_CHECK(ncclAllGather(from, to, part, ncclBfloat16, communicator_, stream));
    } else if (operation == "reduce_scatter") {
      ROLLCAST_CHECK(ncclReduceScatter(from, to, part, ncclBfloat16, ncclSum, communicator_, stream));
    } else if (operation == "broadcast") {
      ROLLCAST_CHECK(ncclBroadcast(from, to, all, ncclBfloat16, 0, communicator_, stream));
    } else if (operation == "all_to_all") {
      ROLLCAST_CHECK(ncclGroupStart());
      for (int peer = 0; peer < team_.ranks; ++peer) {
        std::size_t const at = static_cast<std::size_t>(peer) * part * kElement;
        ROLLCAST_CHECK(ncclSend(from + at, part, ncclBfloat16, peer, communicator_, stream));
        ROLLCAST_CHECK(ncclRecv(to + at, part, ncclBfloat16, peer, communicator_, stream));
      }
      ROLLCAST_CHECK(ncclGroupEnd());
    } else {
      int const next = (rank() + 1) % team_.ranks;
      int const before = (rank() + team_.ranks - 1) % team_.ranks;
      ROLLCAST_CHECK(ncclGroupStart());
      ROLLCAST_CHECK(ncclSend(from, all, ncclBfloat16, next, communicator_, stream));
      ROLLCAST_CHECK(ncclRecv(to, all, ncclBfloat16, before, communicator_, stream));
      ROLLCAST_CHECK(ncclGroupEnd());
    }
  }

  Team& team_;
  int local_;
  Device device_;
  std::int64_t size_ = 0;  // bytes of each buffer
  Stream stream_;
  Event start_;
  Event stop_;
  DeviceBuffer send_;
  DeviceBuffer receive_;
  ncclComm_t communicator_ = nullptr;
};

std::string nccl_version() {
  int v = 0;
  ROLLCAST_CHECK(ncclGetVersion(&v));
  return "nccl " + std::to_string(v / 10000) + "." + std::to_string(v / 100 % 100) + "." +
         std::to_string(v % 100);
}

Processes const* world = nullptr;  // of main; the body of a program takes options alone

// GPUs for this process. Every process finds out what all of them have, so that all leave alike where one has
// none: NoDevice.
int devices_of(Processes const& processes) {
  int devices = 0;
  std::string reason;
  try {
    devices = device_count();
  } catch (NoDevice const& e) {
    reason = e.what();
  }
  int const without = processes.sum(devices == 0 ? 1 : 0);
  if (without > 0 && !reason.empty() && without == processes.size()) throw NoDevice(reason);
  if (without > 0) {
    throw NoDevice("no CUDA device for " + std::to_string(without) + " of " +
                   std::to_string(processes.size()) + " processes");
  }
  int const share = devices / processes.local_size();
  if (processes.sum(share == 0 ? 1 : 0) > 0) throw NoDevice("more processes on a node than CUDA devices");
  return share;
}

// One round with `local` GPUs of this process.
void run_team(NcclOptions const& o, int local, SampleWriter* writer) {
  Processes const& processes = *world;
  Team team{o,
            processes,
            {},
            processes.sum_before(local),
            local,
            processes.sum(local),
            std::barrier<>(local),
            std::vector<double>(static_cast<std::size_t>(local)),
            0,
            writer};
  if (processes.rank() == 0) ROLLCAST_CHECK(ncclGetUniqueId(&team.id));
  processes.broadcast(&team.id, sizeof team.id);
  int const first_device = processes.local_rank() * (device_count() / processes.local_size());
  std::vector<std::thread> threads;
  for (int i = 0; i < local; ++i) {
    threads.emplace_back([&, i] {
      try {
        Rank(team, i, first_device + i).run();
      } catch (std::exception const& e) {
        // The other ranks wait in a collective for this one and can only be ended from outside.
        std::fprintf(stderr, "rollcast_bench_nccl: rank %d: %s\n", team.first + i, e.what());
        processes.abort(1);
        std::_Exit(1);
      }
    });
  }
  for (std::thread& t : threads) t.join();
}

void bench(NcclOptions const& o) {
  Processes const& processes = *world;
  int const share = devices_of(processes);
  std::vector<std::int64_t> teams = o.gpus;
  if (teams.empty()) teams = processes.size() == 1 ? team_sizes(share) : std::vector<std::int64_t>{share};
  for (std::int64_t const local : teams) {
    if (processes.sum(local > share ? 1 : 0) == 0) continue;
    throw NoDevice("no CUDA devices for --gpus " + std::to_string(local) + ": a process has " +
                   std::to_string(share));
  }
  std::unique_ptr<SampleWriter> writer;
  if (processes.rank() == 0) {
    auto header = header_of(open_device(0), "rollcast_bench_nccl", o.run.gpu, nccl_version());
    header.emplace_back("nodes", std::to_string(processes.nodes()));
    writer = std::make_unique<SampleWriter>(o.run.output, header);
  }
  for (std::int64_t const local : teams) {
    if (processes.sum(static_cast<int>(local)) > 1) {
      run_team(o, static_cast<int>(local), writer.get());
    } else if (writer) {
      writer->remark("no rows of one GPU: collectives need two");
    }
  }
}

}  // namespace
}  // namespace rollcast

int main(int argc, char** argv) {
  constexpr int kBadInput = 2;  // every process has found out the same
  rollcast::Processes const processes(&argc, &argv);
  rollcast::world = &processes;
  int const exit_code =
      rollcast::run_program(argc, argv, rollcast::nccl_options, rollcast::bench, processes.rank() == 0);
  if (exit_code != 0 && exit_code != kBadInput)
    processes.abort(exit_code);  // the others may wait for this one
  return exit_code;
}
