// rollcast_bench_copy: the copy engines. h2d and d2h between pinned host memory and the GPU, peer from this
// GPU to each other one; "peer staged" where the pair has no direct access and the driver goes through the
// host.
#include <algorithm>

#include "calibrate/bench/device/device.hpp"
#include "calibrate/bench/device/kernels.hpp"
#include "calibrate/bench/device/program.hpp"
#include "calibrate/bench/device/timer.hpp"
#include "calibrate/bench/rotation.hpp"

namespace rollcast {
namespace {

constexpr std::size_t kAlignment = 256;

// Buffers of one copy in a row, as many as rotate.
struct Ring {
  std::size_t step = 0;  // bytes from one to the next
  int sets = 0;

  std::size_t bytes() const { return step * static_cast<std::size_t>(sets); }
  std::size_t at(int set) const { return step * static_cast<std::size_t>(set); }
};

Ring ring_of(std::size_t size, Device const& device, Bytes free) {
  std::size_t const step = (size + kAlignment - 1) / kAlignment * kAlignment;
  return {step, rotating_sets(bytes(static_cast<double>(step)), device.l2, free)};
}

void fill_random(DeviceBuffer const& buffer, Ring const& ring, cudaStream_t stream) {
  fill_bf16(static_cast<std::uint16_t*>(static_cast<void*>(buffer.data())), ring.bytes() / 2, 1, stream);
  ROLLCAST_CHECK(cudaStreamSynchronize(stream));
}

class Bench {
 public:
  explicit Bench(CopyOptions const& o)
      : options_(o),
        device_(open_device(o.run.device)),
        writer_(o.run.output, header_of(device_, "rollcast_bench_copy", o.run.gpu, "")),
        timer_(device_, o.run, writer_) {}

  void host_copies(bool to_device) {
    for (std::int64_t const bytes : options_.bytes) {
      auto const size = static_cast<std::size_t>(bytes);
      Ring const ring = ring_of(size, device_, free_memory());
      if (ring.sets == 0) {
        leave_out(size);
        continue;
      }
      DeviceBuffer const device(ring.bytes());
      PinnedBuffer const host(ring.bytes());
      fill_random(device, ring, timer_.stream());
      ROLLCAST_CHECK(cudaMemcpy(host.data(), device.data(), ring.bytes(), cudaMemcpyDeviceToHost));
      measure(to_device ? "h2d" : "d2h", size, ring, [&](cudaStream_t stream, int set) {
        std::byte* const there = device.data() + ring.at(set);
        std::byte* const here = host.data() + ring.at(set);
        ROLLCAST_CHECK(to_device ? cudaMemcpyAsync(there, here, size, cudaMemcpyHostToDevice, stream)
                                 : cudaMemcpyAsync(here, there, size, cudaMemcpyDeviceToHost, stream));
      });
    }
  }

  void peer_copies() {
    int const devices = device_count();
    if (devices == 1) writer_.remark("no peer rows: there is one GPU");
    for (int other = 0; other < devices; ++other) {
      if (other != device_.index) peer_copies_to(other);
    }
  }

 private:
  // True where the two have direct access, which is switched on here.
  bool connect(int other) {
    int direct = 0;
    ROLLCAST_CHECK(cudaDeviceCanAccessPeer(&direct, device_.index, other));
    if (direct == 0) return false;
    cudaError_t const status = cudaDeviceEnablePeerAccess(other, 0);
    if (status == cudaErrorPeerAccessAlreadyEnabled) {
      static_cast<void>(cudaGetLastError());  // clears it
    } else {
      check(status, "cudaDeviceEnablePeerAccess");
    }
    return true;
  }

  void peer_copies_to(int other) {
    bool const direct = connect(other);
    writer_.note("GPU " + std::to_string(device_.index) + " to GPU " + std::to_string(other));
    for (std::int64_t const bytes : options_.bytes) {
      auto const size = static_cast<std::size_t>(bytes);
      Bytes const here = free_memory();
      ROLLCAST_CHECK(cudaSetDevice(other));
      Ring const ring = ring_of(size, device_, min(here, free_memory()));
      if (ring.sets == 0) {
        ROLLCAST_CHECK(cudaSetDevice(device_.index));
        leave_out(size);
        continue;
      }
      DeviceBuffer const target(ring.bytes());
      ROLLCAST_CHECK(cudaSetDevice(device_.index));
      DeviceBuffer const source(ring.bytes());
      fill_random(source, ring, timer_.stream());
      measure(direct ? "peer" : "peer staged", size, ring, [&](cudaStream_t stream, int set) {
        ROLLCAST_CHECK(cudaMemcpyPeerAsync(target.data() + ring.at(set), other, source.data() + ring.at(set),
                                           device_.index, size, stream));
      });
    }
  }

  void measure(char const* kind, std::size_t size, Ring const& ring, Launch const& launch) {
    timer_.measure({"copy", kind, "", {static_cast<double>(size)}, {}}, ring.sets, Enqueue::stream, launch);
  }

  void leave_out(std::size_t size) {
    writer_.remark("left out, does not fit into memory: a copy of " + std::to_string(size) + " bytes");
  }

  CopyOptions const& options_;
  Device device_;
  SampleWriter writer_;
  Timer timer_;
};

void bench(CopyOptions const& o) {
  Bench b(o);
  auto const wanted = [&](char const* kind) {
    return std::find(o.kinds.begin(), o.kinds.end(), kind) != o.kinds.end();
  };
  if (wanted("h2d")) b.host_copies(true);
  if (wanted("d2h")) b.host_copies(false);
  if (wanted("peer")) b.peer_copies();
}

}  // namespace
}  // namespace rollcast

int main(int argc, char** argv) {
  return rollcast::run_program(argc, argv, rollcast::copy_options, rollcast::bench);
}
