#include <cuda_bf16.h>
#include <cuda_fp8.h>

#include "calibrate/bench/device/check.hpp"
#include "calibrate/bench/device/kernels.hpp"

namespace rollcast {
namespace {

constexpr int kThreads = 256;

__device__ std::uint64_t mixed(std::uint64_t x) {  // splitmix64
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

__device__ float uniform(std::uint64_t seed, std::uint64_t index) {  // [0, 1)
  return static_cast<float>(mixed(seed ^ mixed(index)) >> 40) * 0x1p-24F;
}

struct Bf16 {
  __device__ std::uint16_t operator()(float u) const {
    return __bfloat16_as_ushort(__float2bfloat16(2 * u - 1));
  }
};
struct Fp8 {
  __device__ std::uint8_t operator()(float u) const {
    return __nv_cvt_float_to_fp8(2 * u - 1, __NV_SATFINITE, __NV_E4M3);
  }
};
struct Fp32 {
  __device__ float operator()(float u) const { return 2 * u - 1; }
};
struct Below {
  std::int32_t limit;
  __device__ std::int32_t operator()(float u) const {
    return min(static_cast<std::int32_t>(u * static_cast<float>(limit)), limit - 1);
  }
};

template <class T, class Convert>
__global__ void fill(T* data, std::size_t count, std::uint64_t seed, Convert convert) {
  std::size_t const stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += stride) {
    data[i] = convert(uniform(seed, i));
  }
}

__global__ void fill_with(std::int32_t* data, std::size_t count, std::int32_t value) {
  std::size_t const stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += stride) {
    data[i] = value;
  }
}

unsigned blocks_for(std::size_t count) {
  constexpr std::size_t kMost = 65536;
  std::size_t const blocks = (count + kThreads - 1) / kThreads;
  return static_cast<unsigned>(blocks < kMost ? blocks : kMost);
}

template <class T, class Convert>
void launch_fill(T* data, std::size_t count, std::uint64_t seed, Convert convert, cudaStream_t stream) {
  if (count == 0) return;
  fill<<<blocks_for(count), kThreads, 0, stream>>>(data, count, seed, convert);
  ROLLCAST_CHECK(cudaGetLastError());
}

}  // namespace

void fill_bf16(std::uint16_t* data, std::size_t count, std::uint64_t seed, cudaStream_t stream) {
  launch_fill(data, count, seed, Bf16{}, stream);
}

void fill_fp8(std::uint8_t* data, std::size_t count, std::uint64_t seed, cudaStream_t stream) {
  launch_fill(data, count, seed, Fp8{}, stream);
}

void fill_fp32(float* data, std::size_t count, std::uint64_t seed, cudaStream_t stream) {
  launch_fill(data, count, seed, Fp32{}, stream);
}

void fill_int32(std::int32_t* data, std::size_t count, std::int32_t limit, std::uint64_t seed,
                cudaStream_t stream) {
  launch_fill(data, count, seed, Below{limit}, stream);
}

void fill_int32_with(std::int32_t* data, std::size_t count, std::int32_t value, cudaStream_t stream) {
  if (count == 0) return;
  fill_with<<<blocks_for(count), kThreads, 0, stream>>>(data, count, value);
  ROLLCAST_CHECK(cudaGetLastError());
}

}  // namespace rollcast
