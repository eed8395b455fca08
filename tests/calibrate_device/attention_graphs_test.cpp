// Whether cuDNN takes the attention graphs: its engines judge them for a GPU that is described to it, on a
// machine without one. What the kernels compute is not looked at.
#include "calibrate/bench/device/attention_graphs.hpp"

#include <gtest/gtest.h>

#include <string>

namespace rollcast {
namespace {

// A GPU in cuDNN's own form. Numbers of the data sheets and of the CUDA programming guide's table of compute
// capabilities; the clocks are in kHz.
std::string described(int capability, int sms, int shared_memory, int l2) {
  return R"({"deviceVer":)" + std::to_string(capability) + R"(,"multiProcessorCount":)" +
         std::to_string(sms) + R"(,"maxSharedMemoryPerBlockOptin":)" + std::to_string(shared_memory) +
         R"(,"l2CacheSize":)" + std::to_string(l2) +
         R"(,"maxGridSize":[2147483647,65535,65535],"maxBlockSize":[1024,1024,64],"regsPerBlock":65536,)"
         R"("warpSize":32,"maxSharedMemoryPerBlock":49152,"reservedSharedMemoryPerBlock":1024,)"
         R"("maxRegistersPerSM":65536,"maxCtasPerSM":32,"maxThreadsPerBlock":1024,"maxThreadsPerSM":2048,)"
         R"("pciDeviceId":0,"isTccDriver":0,"supportCoopLaunch":1,"totalGlobalMem":85899345920,)"
         R"("smClockRateKHz":1400000,"memClockRateKHz":1500000,"cudaDeviceId":0,"driverVer":13000,)"
         R"("deviceName":"described"})";
}

struct Gpu {
  char const* name;
  int capability;
  int sms;
  int shared_memory;  // bytes that a block may ask for
  int l2;
};
constexpr Gpu kGpus[] = {{"A100", 800, 108, 166912, 41943040},
                         {"H100", 900, 132, 232448, 52428800},
                         {"B200", 1000, 148, 232448, 132120576}};

CudnnDescriptor device_of(Gpu const& g) {
  return cudnn_device(described(g.capability, g.sms, g.shared_memory, g.l2));
}

struct Heads {
  std::int64_t heads;
  std::int64_t kv_heads;
  std::int64_t width;
};
constexpr Heads kHeads[] = {{32, 8, 128}, {8, 8, 128}, {4, 1, 64}};

template <class Make>
void expect_taken(char const* what, Make graph) {
  for (Gpu const& gpu : kGpus) {
    CudnnDescriptor const device = device_of(gpu);
    for (Heads const& h : kHeads) {
      for (std::int64_t const length : {std::int64_t{128}, std::int64_t{4096}}) {
        AttentionShape const s{2, length, h.heads, h.kv_heads, h.width, 64};
        EXPECT_GE(graph(s).candidates(device), 1U)
            << what << " of " << length << " tokens, " << h.heads << " heads on " << gpu.name;
      }
    }
  }
}

TEST(AttentionGraphs, PrefillIsTaken) {
  expect_taken("prefill", [](AttentionShape const& s) { return prefill_graph(s, false); });
  expect_taken("prefill with statistics", [](AttentionShape const& s) { return prefill_graph(s, true); });
}

TEST(AttentionGraphs, DecodeOverAPagedCacheIsTaken) { expect_taken("decode", decode_graph); }

TEST(AttentionGraphs, BackwardIsTaken) { expect_taken("backward", backward_graph); }

// A graph that no engine knows has no candidates: the tests above can fail.
TEST(AttentionGraphs, AnUnknownGraphIsNotTaken) {
  CudnnGraph g;
  TensorShape const odd{{1, 1, 7, 3}, {21, 21, 3, 1}};
  g.tensor(1, odd, CUDNN_DATA_BOOLEAN);
  g.tensor(2, odd, CUDNN_DATA_BOOLEAN);
  g.reduce(CUDNN_REDUCE_TENSOR_MAX, 1, 2);
  std::size_t candidates = 0;
  try {
    candidates = g.candidates(device_of(kGpus[1]));
  } catch (std::runtime_error const&) {  // or it refuses the graph itself
  }
  EXPECT_EQ(candidates, 0U);
}

}  // namespace
}  // namespace rollcast
