// The GPU under test and what is owned on it.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "models/units.hpp"

namespace rollcast {

struct Device {
  int index = 0;
  std::string name;
  std::string pci_bus;
  int major = 0;  // compute capability
  int minor = 0;
  int sms = 0;
  Bytes memory;
  Bytes l2;
  int sm_clock_khz = 0;  // highest
  int memory_clock_khz = 0;
  int driver = 0;  // CUDA version of the driver, 12040
  int runtime = 0;
};

// Number of devices; NoDevice when there is none or no usable driver.
int device_count();

// Makes the device current for the calling thread. NoDevice when there is no such device.
Device open_device(int index);

Bytes free_memory();  // of the current device

// Device memory, aligned to 256 bytes as cudaMalloc gives it.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  explicit DeviceBuffer(std::size_t bytes);
  ~DeviceBuffer();
  DeviceBuffer(DeviceBuffer&& o) noexcept : data_(std::exchange(o.data_, nullptr)) {}
  DeviceBuffer& operator=(DeviceBuffer&& o) noexcept {
    std::swap(data_, o.data_);
    return *this;
  }
  std::byte* data() const { return data_; }
  float* floats() const { return static_cast<float*>(static_cast<void*>(data_)); }

 private:
  std::byte* data_ = nullptr;
};

// Page-locked host memory.
class PinnedBuffer {
 public:
  explicit PinnedBuffer(std::size_t bytes);
  ~PinnedBuffer();
  PinnedBuffer(PinnedBuffer const&) = delete;
  PinnedBuffer& operator=(PinnedBuffer const&) = delete;
  std::byte* data() const { return data_; }

 private:
  std::byte* data_ = nullptr;
};

class Stream {
 public:
  Stream();
  ~Stream();
  Stream(Stream const&) = delete;
  Stream& operator=(Stream const&) = delete;
  cudaStream_t get() const { return stream_; }
  void synchronize() const;

 private:
  cudaStream_t stream_ = nullptr;
};

class Event {
 public:
  Event();
  ~Event();
  Event(Event&& o) noexcept : event_(std::exchange(o.event_, nullptr)) {}
  Event& operator=(Event&&) = delete;
  void record(cudaStream_t stream) const;
  void synchronize() const;
  cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

// Both must have happened.
Seconds time_between(Event const& start, Event const& stop);

// What a captured stream did, ready to be launched again.
class Graph {
 public:
  // body enqueues on the stream; nothing of it runs.
  template <class Body>
  Graph(cudaStream_t stream, Body body) {
    begin(stream);
    body();
    end(stream);
  }
  ~Graph();
  Graph(Graph const&) = delete;
  Graph& operator=(Graph const&) = delete;
  void launch(cudaStream_t stream) const;

 private:
  static void begin(cudaStream_t stream);
  void end(cudaStream_t stream);

  cudaGraphExec_t exec_ = nullptr;
};

// Clocks and driver release as NVML tells them; zero or empty where it cannot be loaded.
struct DriverState {
  std::string release;  // "570.86.15"
  unsigned sm_mhz = 0;
  unsigned memory_mhz = 0;
};
DriverState driver_state(Device const& d);

// "gpu" (`gpu`, else the driver's name), "device", "clocks", "driver", "versions", "program", "date" of the
// samples file; `libraries` is added to the versions.
std::vector<std::pair<std::string, std::string>> header_of(Device const& d, std::string const& program,
                                                           std::string const& gpu,
                                                           std::string const& libraries);

}  // namespace rollcast
