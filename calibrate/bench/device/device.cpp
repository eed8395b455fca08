#include "calibrate/bench/device/device.hpp"

#include <dlfcn.h>
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <ctime>

#include "calibrate/bench/device/check.hpp"

namespace rollcast {
namespace {

int attribute(cudaDeviceAttr what, int device) {
  int value = 0;
  ROLLCAST_CHECK(cudaDeviceGetAttribute(&value, what, device));
  return value;
}

std::string version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

// The management library of the driver, loaded at run time: it comes with the driver, not with the toolkit.
class Nvml {
 public:
  Nvml() : library_(dlopen("libnvidia-ml.so.1", RTLD_NOW)) {
    auto const init = function<int (*)()>("nvmlInit_v2");
    ready_ = init != nullptr && init() == kSuccess;
  }
  ~Nvml() {
    auto const shut_down = function<int (*)()>("nvmlShutdown");
    if (ready_ && shut_down != nullptr) shut_down();
    if (library_ != nullptr) dlclose(library_);
  }
  Nvml(Nvml const&) = delete;
  Nvml& operator=(Nvml const&) = delete;

  std::string release() const {
    char text[96] = "";
    auto const query = function<int (*)(char*, unsigned)>("nvmlSystemGetDriverVersion");
    if (!ready_ || query == nullptr || query(text, sizeof text) != kSuccess) return "";
    return text;
  }

  unsigned clock(std::string const& pci_bus, int domain) const {
    auto const find = function<int (*)(char const*, void**)>("nvmlDeviceGetHandleByPciBusId_v2");
    auto const query = function<int (*)(void*, int, unsigned*)>("nvmlDeviceGetClockInfo");
    void* handle = nullptr;
    unsigned mhz = 0;
    if (!ready_ || find == nullptr || query == nullptr) return 0;
    if (find(pci_bus.c_str(), &handle) != kSuccess || query(handle, domain, &mhz) != kSuccess) return 0;
    return mhz;
  }

  static constexpr int kSmClock = 1;
  static constexpr int kMemoryClock = 2;

 private:
  template <class F>
  F function(char const* name) const {
    return library_ == nullptr ? nullptr : reinterpret_cast<F>(dlsym(library_, name));
  }

  static constexpr int kSuccess = 0;
  void* library_ = nullptr;
  bool ready_ = false;
};

}  // namespace

int device_count() {
  int count = 0;
  cudaError_t const status = cudaGetDeviceCount(&count);
  if (status == cudaErrorInsufficientDriver) {
    int driver = 0;
    ROLLCAST_CHECK(cudaDriverGetVersion(&driver));
    if (driver == 0) throw NoDevice("no CUDA device here: there is no NVIDIA driver");
    throw NoDevice("no CUDA device that can be used: the driver is for CUDA " + version_text(driver) +
                   ", this program needs " + version_text(CUDART_VERSION));
  }
  if (status == cudaErrorNoDevice || (status == cudaSuccess && count == 0)) {
    throw NoDevice("no CUDA device here: the driver lists none");
  }
  check(status, "cudaGetDeviceCount");
  return count;
}

Device open_device(int index) {
  int const count = device_count();
  if (index >= count) {
    throw NoDevice(fmt::format("no CUDA device {} here: the driver lists {}, counted from 0", index, count));
  }
  ROLLCAST_CHECK(cudaSetDevice(index));
  cudaDeviceProp properties{};
  ROLLCAST_CHECK(cudaGetDeviceProperties(&properties, index));
  Device d;
  d.index = index;
  d.name = properties.name;
  char bus[32] = "";
  ROLLCAST_CHECK(cudaDeviceGetPCIBusId(bus, sizeof bus, index));
  d.pci_bus = bus;
  d.major = properties.major;
  d.minor = properties.minor;
  d.sms = properties.multiProcessorCount;
  d.memory = bytes(static_cast<double>(properties.totalGlobalMem));
  d.l2 = bytes(properties.l2CacheSize);
  d.sm_clock_khz = attribute(cudaDevAttrClockRate, index);
  d.memory_clock_khz = attribute(cudaDevAttrMemoryClockRate, index);
  ROLLCAST_CHECK(cudaDriverGetVersion(&d.driver));
  ROLLCAST_CHECK(cudaRuntimeGetVersion(&d.runtime));
  return d;
}

Bytes free_memory() {
  std::size_t free = 0;
  std::size_t total = 0;
  ROLLCAST_CHECK(cudaMemGetInfo(&free, &total));
  return bytes(static_cast<double>(free));
}

DeviceBuffer::DeviceBuffer(std::size_t bytes) {
  void* data = nullptr;
  ROLLCAST_CHECK(cudaMalloc(&data, bytes));
  data_ = static_cast<std::byte*>(data);
}
DeviceBuffer::~DeviceBuffer() { cudaFree(data_); }

PinnedBuffer::PinnedBuffer(std::size_t bytes) {
  void* data = nullptr;
  ROLLCAST_CHECK(cudaHostAlloc(&data, bytes, cudaHostAllocDefault));
  data_ = static_cast<std::byte*>(data);
}
PinnedBuffer::~PinnedBuffer() { cudaFreeHost(data_); }

Stream::Stream() { ROLLCAST_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
Stream::~Stream() { cudaStreamDestroy(stream_); }
void Stream::synchronize() const { ROLLCAST_CHECK(cudaStreamSynchronize(stream_)); }

Event::Event() { ROLLCAST_CHECK(cudaEventCreate(&event_)); }
Event::~Event() {
  if (event_ != nullptr) cudaEventDestroy(event_);
}
void Event::record(cudaStream_t stream) const { ROLLCAST_CHECK(cudaEventRecord(event_, stream)); }
void Event::synchronize() const { ROLLCAST_CHECK(cudaEventSynchronize(event_)); }

Seconds time_between(Event const& start, Event const& stop) {
  float milliseconds = 0;
  ROLLCAST_CHECK(cudaEventElapsedTime(&milliseconds, start.get(), stop.get()));
  return ms(static_cast<double>(milliseconds));
}

void Graph::begin(cudaStream_t stream) {
  ROLLCAST_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
}

void Graph::end(cudaStream_t stream) {
  cudaGraph_t graph = nullptr;
  ROLLCAST_CHECK(cudaStreamEndCapture(stream, &graph));
  cudaError_t const status = cudaGraphInstantiate(&exec_, graph, 0);
  cudaGraphDestroy(graph);
  check(status, "cudaGraphInstantiate");
  ROLLCAST_CHECK(cudaGraphUpload(exec_, stream));
}

Graph::~Graph() { cudaGraphExecDestroy(exec_); }

void Graph::launch(cudaStream_t stream) const { ROLLCAST_CHECK(cudaGraphLaunch(exec_, stream)); }

DriverState driver_state(Device const& d) {
  static Nvml const nvml;
  return {nvml.release(), nvml.clock(d.pci_bus, Nvml::kSmClock), nvml.clock(d.pci_bus, Nvml::kMemoryClock)};
}

std::vector<std::pair<std::string, std::string>> header_of(Device const& d, std::string const& program,
                                                           std::string const& gpu,
                                                           std::string const& libraries) {
  DriverState const state = driver_state(d);
  std::time_t const now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  return {
      {"gpu", gpu.empty() ? d.name : gpu},
      {"device", fmt::format("{}, compute {}.{}, {} SMs, {:.2f} GiB, L2 {:.0f} MiB", d.name, d.major, d.minor,
                             d.sms, d.memory / GiB(1), d.l2 / MiB(1))},
      {"clocks",
       fmt::format("SM at most {} MHz, memory at most {} MHz; SM {} MHz at the start", d.sm_clock_khz / 1000,
                   d.memory_clock_khz / 1000, state.sm_mhz > 0 ? std::to_string(state.sm_mhz) : "unknown")},
      {"driver", state.release.empty() ? "CUDA " + version_text(d.driver) : state.release},
      {"versions", "cuda " + version_text(d.runtime) + (libraries.empty() ? "" : ", " + libraries)},
      {"program", program},
      {"date", fmt::format("{:%Y-%m-%d}", fmt::gmtime(now))},
  };
}

}  // namespace rollcast
