#include <cuda_bf16.h>

#include "calibrate/bench/device/check.hpp"
#include "calibrate/bench/device/kernels.hpp"

namespace rollcast {
namespace {

constexpr int kVector = 8;  // bf16 numbers in 16 bytes
constexpr int kThreads = 256;
constexpr int kWarp = 32;

// Eight bf16 numbers as one 16-byte access.
struct Eight {
  float v[kVector];
};

__device__ Eight load(std::uint16_t const* p) {
  uint4 const raw = *reinterpret_cast<uint4 const*>(p);
  auto const* pairs = reinterpret_cast<__nv_bfloat162 const*>(&raw);
  Eight e;
  for (int i = 0; i < kVector / 2; ++i) {
    float2 const f = __bfloat1622float2(pairs[i]);
    e.v[2 * i] = f.x;
    e.v[2 * i + 1] = f.y;
  }
  return e;
}

__device__ void store(std::uint16_t* p, Eight const& e) {
  uint4 raw;
  auto* pairs = reinterpret_cast<__nv_bfloat162*>(&raw);
  for (int i = 0; i < kVector / 2; ++i) pairs[i] = __floats2bfloat162_rn(e.v[2 * i], e.v[2 * i + 1]);
  *reinterpret_cast<uint4*>(p) = raw;
}

struct Sum {
  __device__ float operator()(float a, float b) const { return a + b; }
};
struct Maximum {
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

// Over the whole block, the result in every thread. blockDim.x is a multiple of the warp, at most 1024.
template <class Op>
__device__ float reduced(float value, float neutral, Op op) {
  __shared__ float parts[kWarp];
  int const lane = threadIdx.x % kWarp;
  int const warp = threadIdx.x / kWarp;
  for (int offset = kWarp / 2; offset > 0; offset /= 2) {
    value = op(value, __shfl_xor_sync(0xffffffffU, value, offset));
  }
  __syncthreads();  // parts may still be read from the reduction before
  if (lane == 0) parts[warp] = value;
  __syncthreads();
  value = lane < static_cast<int>(blockDim.x) / kWarp ? parts[lane] : neutral;
  for (int offset = kWarp / 2; offset > 0; offset /= 2) {
    value = op(value, __shfl_xor_sync(0xffffffffU, value, offset));
  }
  return value;
}

// One block a token. The second reading of the row hits the L1 cache.
__global__ void rms_norm_kernel(std::uint16_t* y, std::uint16_t const* x, std::uint16_t const* weight,
                                int width) {
  std::size_t const row = static_cast<std::size_t>(blockIdx.x) * width;
  float squares = 0;
  for (int i = threadIdx.x * kVector; i < width; i += blockDim.x * kVector) {
    Eight const e = load(x + row + i);
    for (float const v : e.v) squares += v * v;
  }
  float const scale = rsqrtf(reduced(squares, 0, Sum{}) / static_cast<float>(width) + 1e-6F);
  for (int i = threadIdx.x * kVector; i < width; i += blockDim.x * kVector) {
    Eight e = load(x + row + i);
    Eight const w = load(weight + i);
    for (int j = 0; j < kVector; ++j) e.v[j] *= scale * w.v[j];
    store(y + row + i, e);
  }
}

// The grid of the element-wise kernels: x over the row, y over tokens.
__global__ void swiglu_kernel(std::uint16_t* y, std::uint16_t const* x, int tokens, int width) {
  int const i = (blockIdx.x * blockDim.x + threadIdx.x) * kVector;
  if (i >= width) return;
  for (int t = blockIdx.y; t < tokens; t += gridDim.y) {
    std::size_t const row = static_cast<std::size_t>(t) * width;
    Eight gate = load(x + 2 * row + i);
    Eight const up = load(x + 2 * row + width + i);
    for (int j = 0; j < kVector; ++j) gate.v[j] = gate.v[j] / (1 + __expf(-gate.v[j])) * up.v[j];
    store(y + row + i, gate);
  }
}

__global__ void residual_kernel(std::uint16_t* z, std::uint16_t const* x, std::uint16_t const* y, int tokens,
                                int width) {
  int const i = (blockIdx.x * blockDim.x + threadIdx.x) * kVector;
  if (i >= width) return;
  for (int t = blockIdx.y; t < tokens; t += gridDim.y) {
    std::size_t const at = static_cast<std::size_t>(t) * width + i;
    Eight a = load(x + at);
    Eight const b = load(y + at);
    for (int j = 0; j < kVector; ++j) a.v[j] += b.v[j];
    store(z + at, a);
  }
}

// x over (head, eight of the first half), y over tokens.
__global__ void rope_kernel(std::uint16_t* qk, float const* cosine, float const* sine, int tokens, int heads,
                            int head_dim) {
  int const half = head_dim / 2;
  int const per_head = half / kVector;
  int const item = blockIdx.x * blockDim.x + threadIdx.x;
  if (item >= heads * per_head) return;
  int const head = item / per_head;
  int const i = item % per_head * kVector;
  for (int t = blockIdx.y; t < tokens; t += gridDim.y) {
    std::size_t const at = (static_cast<std::size_t>(t) * heads + head) * head_dim + i;
    std::size_t const angle = static_cast<std::size_t>(t) * half + i;
    Eight a = load(qk + at);
    Eight b = load(qk + at + half);
    for (int j = 0; j < kVector; ++j) {
      float const c = cosine[angle + j];
      float const s = sine[angle + j];
      float const first = a.v[j] * c - b.v[j] * s;
      b.v[j] = b.v[j] * c + a.v[j] * s;
      a.v[j] = first;
    }
    store(qk + at, a);
    store(qk + at + half, b);
  }
}

// One block a token; the sum is rescaled whenever a thread meets a new maximum.
__global__ void log_softmax_kernel(float* out, std::uint16_t const* logits, std::int32_t const* target,
                                   int vocab) {
  std::uint16_t const* row = logits + static_cast<std::size_t>(blockIdx.x) * vocab;
  float top = -INFINITY;
  float sum = 0;
  for (int i = threadIdx.x * kVector; i < vocab; i += blockDim.x * kVector) {
    Eight const e = load(row + i);
    float higher = top;
    for (float const v : e.v) higher = fmaxf(higher, v);
    sum *= __expf(top - higher);
    for (float const v : e.v) sum += __expf(v - higher);
    top = higher;
  }
  float const maximum = reduced(top, -INFINITY, Maximum{});
  // A thread without numbers has sum 0 and top -infinity: exp(-infinity) is 0.
  float const total = reduced(sum * __expf(top - maximum), 0, Sum{});
  if (threadIdx.x == 0) {
    float const logit = __bfloat162float(__ushort_as_bfloat16(row[target[blockIdx.x]]));
    out[blockIdx.x] = logit - maximum - logf(total);
  }
}

__global__ void adam_kernel(float* master, float* first, float* second, std::uint16_t const* gradient,
                            std::uint16_t* weight, std::size_t count) {
  constexpr float kRate = 1e-6F;
  constexpr float kBeta1 = 0.9F;
  constexpr float kBeta2 = 0.999F;
  constexpr float kEpsilon = 1e-8F;
  constexpr float kDecay = 0.01F;
  std::size_t const stride = static_cast<std::size_t>(gridDim.x) * blockDim.x * kVector;
  for (std::size_t i = (static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x) * kVector; i < count;
       i += stride) {
    Eight const g = load(gradient + i);
    Eight w;
    for (int part = 0; part < 2; ++part) {
      auto* p4 = reinterpret_cast<float4*>(master + i) + part;
      auto* m4 = reinterpret_cast<float4*>(first + i) + part;
      auto* v4 = reinterpret_cast<float4*>(second + i) + part;
      float4 p = *p4;
      float4 m = *m4;
      float4 v = *v4;
      float* const ps = &p.x;
      float* const ms = &m.x;
      float* const vs = &v.x;
      for (int j = 0; j < 4; ++j) {
        float const gradient_j = g.v[4 * part + j];
        ms[j] = kBeta1 * ms[j] + (1 - kBeta1) * gradient_j;
        vs[j] = kBeta2 * vs[j] + (1 - kBeta2) * gradient_j * gradient_j;
        ps[j] -= kRate * (ms[j] / (sqrtf(vs[j]) + kEpsilon) + kDecay * ps[j]);
        w.v[4 * part + j] = ps[j];
      }
      *p4 = p;
      *m4 = m;
      *v4 = v;
    }
    store(weight + i, w);
  }
}

__global__ void nothing_kernel() {}

dim3 grid_over(int items, int tokens) {
  constexpr int kMostRows = 65535;
  return {static_cast<unsigned>((items + kThreads - 1) / kThreads),
          static_cast<unsigned>(tokens < kMostRows ? tokens : kMostRows), 1};
}

// Threads of a block that has a row of `width` to itself: one vector each, whole warps, at most 1024.
int threads_for(int width) {
  constexpr int kMost = 1024;
  int const vectors = (width + kVector - 1) / kVector;
  int const whole = (vectors + kWarp - 1) / kWarp * kWarp;
  return whole < kMost ? whole : kMost;
}

}  // namespace

void rms_norm(std::uint16_t* y, std::uint16_t const* x, std::uint16_t const* weight, int tokens, int width,
              cudaStream_t stream) {
  rms_norm_kernel<<<static_cast<unsigned>(tokens), threads_for(width), 0, stream>>>(y, x, weight, width);
  ROLLCAST_CHECK(cudaGetLastError());
}

void swiglu(std::uint16_t* y, std::uint16_t const* x, int tokens, int width, cudaStream_t stream) {
  swiglu_kernel<<<grid_over(width / kVector, tokens), kThreads, 0, stream>>>(y, x, tokens, width);
  ROLLCAST_CHECK(cudaGetLastError());
}

void rope(std::uint16_t* qk, float const* cosine, float const* sine, int tokens, int heads, int head_dim,
          cudaStream_t stream) {
  int const items = heads * (head_dim / 2 / kVector);
  rope_kernel<<<grid_over(items, tokens), kThreads, 0, stream>>>(qk, cosine, sine, tokens, heads, head_dim);
  ROLLCAST_CHECK(cudaGetLastError());
}

void residual_add(std::uint16_t* z, std::uint16_t const* x, std::uint16_t const* y, int tokens, int width,
                  cudaStream_t stream) {
  residual_kernel<<<grid_over(width / kVector, tokens), kThreads, 0, stream>>>(z, x, y, tokens, width);
  ROLLCAST_CHECK(cudaGetLastError());
}

void log_softmax_gather(float* out, std::uint16_t const* logits, std::int32_t const* target, int tokens,
                        int vocab, cudaStream_t stream) {
  log_softmax_kernel<<<static_cast<unsigned>(tokens), threads_for(vocab), 0, stream>>>(out, logits, target,
                                                                                       vocab);
  ROLLCAST_CHECK(cudaGetLastError());
}

void adam(float* master, float* first, float* second, std::uint16_t const* gradient, std::uint16_t* weight,
          std::size_t count, cudaStream_t stream) {
  constexpr std::size_t kMost = 65536;
  std::size_t const blocks = (count / kVector + kThreads - 1) / kThreads;
  adam_kernel<<<static_cast<unsigned>(blocks < kMost ? blocks : kMost), kThreads, 0, stream>>>(
      master, first, second, gradient, weight, count);
  ROLLCAST_CHECK(cudaGetLastError());
}

void empty_kernel(cudaStream_t stream) {
  nothing_kernel<<<1, kWarp, 0, stream>>>();
  ROLLCAST_CHECK(cudaGetLastError());
}

}  // namespace rollcast
