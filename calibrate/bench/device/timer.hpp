// Times launches on one stream with CUDA events.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>

#include "calibrate/bench/device/device.hpp"
#include "calibrate/bench/device/program.hpp"
#include "calibrate/bench/options.hpp"

namespace rollcast {

// Enqueues one execution on the stream, on the buffers of set `set`. Must be fit for stream capture when
// timed as a graph.
using Launch = std::function<void(cudaStream_t, int set)>;

// How the launches of a sample reach the GPU: as one CUDA graph (the time of the kernels alone, as an engine
// with CUDA graphs has it) or one by one.
enum class Enqueue { graph, stream };

class Timer {
 public:
  Timer(Device const& device, RunOptions const& options, SampleWriter& writer);

  // Warms up, times and writes the row (time is filled in; a sustained run adds "sustained" to the variant).
  // A sample is the time between two events around whole rounds over the sets, about 2 ms of launches and at
  // most 512, divided by their number. Burst: options.repeats samples, all enqueued before the first is read,
  // so that the GPU never waits for the host. Sustained: samples follow each other for options.duration,
  // those of the second half count. A note before the row tells the clocks while it ran.
  void measure(Measured row, int sets, Enqueue enqueue, Launch const& launch);

  cudaStream_t stream() const { return stream_.get(); }
  void synchronize() const { stream_.synchronize(); }

 private:
  std::vector<double> burst(std::function<void()> const& sample, int launches);
  std::vector<double> sustained(std::function<void()> const& sample, int launches);
  void note_clocks();

  Device const& device_;
  RunOptions const& options_;
  SampleWriter& writer_;
  Stream stream_;
};

}  // namespace rollcast
