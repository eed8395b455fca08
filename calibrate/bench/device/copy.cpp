// rollcast_bench_copy: the copy engines. h2d and d2h between pinned host memory and the GPU, peer from this
// GPU to each other one that it can reach.
#include <algorithm>

#include "calibrate/bench/device/device.hpp"
#include "calibrate/bench/device/program.hpp"
#include "calibrate/bench/device/timer.hpp"

namespace rollcast {
namespace {

constexpr int kSets = 2;  // copy engines do not keep their data in the L2

std::size_t offset(int set, std::size_t size) { return static_cast<std::size_t>(set) * size; }

Measured row_of(char const* kind, std::size_t size) {
  return {"copy", kind, "", {static_cast<double>(size)}, {}};
}

bool fits(std::size_t size, SampleWriter& writer) {
  if (static_cast<double>(size) * kSets < free_memory().value * 0.8) return true;
  writer.remark("left out, does not fit into memory: " + std::to_string(size) + " bytes");
  return false;
}

void host_copies(CopyOptions const& o, bool to_device, Timer& timer, SampleWriter& writer) {
  for (std::int64_t const bytes : o.bytes) {
    auto const size = static_cast<std::size_t>(bytes);
    if (!fits(size, writer)) continue;
    DeviceBuffer const device(size * kSets);
    PinnedBuffer const host(size * kSets);
    std::fill_n(host.data(), size * kSets, std::byte{0x5a});  // touches every page
    timer.measure(
        row_of(to_device ? "h2d" : "d2h", size), kSets, Enqueue::stream, [&](cudaStream_t stream, int set) {
          std::byte* const there = device.data() + offset(set, size);
          std::byte* const here = host.data() + offset(set, size);
          ROLLCAST_CHECK(to_device ? cudaMemcpyAsync(there, here, size, cudaMemcpyHostToDevice, stream)
                                   : cudaMemcpyAsync(here, there, size, cudaMemcpyDeviceToHost, stream));
        });
  }
}

// With direct access where the pair has it; the remark says which pairs are staged through the host.
void peer_copies(CopyOptions const& o, int other, Timer& timer, SampleWriter& writer) {
  int direct = 0;
  ROLLCAST_CHECK(cudaDeviceCanAccessPeer(&direct, o.run.device, other));
  if (direct != 0) {
    cudaError_t const status = cudaDeviceEnablePeerAccess(other, 0);
    if (status == cudaErrorPeerAccessAlreadyEnabled) {
      static_cast<void>(cudaGetLastError());  // clears it
    } else {
      check(status, "cudaDeviceEnablePeerAccess");
    }
  }
  writer.remark("next peer rows: GPU " + std::to_string(o.run.device) + " to GPU " + std::to_string(other) +
                (direct != 0 ? ", direct" : ", staged through the host"));
  for (std::int64_t const bytes : o.bytes) {
    auto const size = static_cast<std::size_t>(bytes);
    if (!fits(size, writer)) continue;
    DeviceBuffer const source(size * kSets);
    ROLLCAST_CHECK(cudaSetDevice(other));
    DeviceBuffer const target(size * kSets);
    ROLLCAST_CHECK(cudaSetDevice(o.run.device));
    timer.measure(row_of("peer", size), kSets, Enqueue::stream, [&](cudaStream_t stream, int set) {
      ROLLCAST_CHECK(cudaMemcpyPeerAsync(target.data() + offset(set, size), other,
                                         source.data() + offset(set, size), o.run.device, size, stream));
    });
  }
}

void bench(CopyOptions const& o) {
  Device const device = open_device(o.run.device);
  SampleWriter writer(o.run.output, header_of(device, o.run.gpu, ""));
  Timer timer(device, o.run, writer);
  auto const wanted = [&](char const* kind) {
    return std::find(o.kinds.begin(), o.kinds.end(), kind) != o.kinds.end();
  };
  if (wanted("h2d")) host_copies(o, true, timer, writer);
  if (wanted("d2h")) host_copies(o, false, timer, writer);
  if (!wanted("peer")) return;
  int const devices = device_count();
  if (devices == 1) writer.remark("no peer rows: there is one GPU");
  for (int other = 0; other < devices; ++other) {
    if (other != o.run.device) peer_copies(o, other, timer, writer);
  }
}

}  // namespace
}  // namespace rollcast

int main(int argc, char** argv) {
  return rollcast::run_program(argc, argv, rollcast::copy_options, rollcast::bench);
}
