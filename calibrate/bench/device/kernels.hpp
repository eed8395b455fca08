// Our own kernels, as plain functions: fills for every program and the memory-bound operations. All run on
// the stream; a launch that fails throws. bf16 buffers are passed as std::uint16_t and aligned to 16 bytes;
// widths are multiples of 8.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace rollcast {

// Uniform in [-1, 1), a function of seed and index alone: real values keep the power draw of the units real.
void fill_bf16(std::uint16_t* data, std::size_t count, std::uint64_t seed, cudaStream_t stream);
void fill_fp8(std::uint8_t* data, std::size_t count, std::uint64_t seed, cudaStream_t stream);  // e4m3
void fill_fp32(float* data, std::size_t count, std::uint64_t seed, cudaStream_t stream);
// Uniform in [0, limit).
void fill_int32(std::int32_t* data, std::size_t count, std::int32_t limit, std::uint64_t seed,
                cudaStream_t stream);
// The same value everywhere.
void fill_int32_with(std::int32_t* data, std::size_t count, std::int32_t value, cudaStream_t stream);

// y = x / rms(x) * weight per token. Reads 2, writes 2 bytes per element.
void rms_norm(std::uint16_t* y, std::uint16_t const* x, std::uint16_t const* weight, int tokens, int width,
              cudaStream_t stream);

// y[t,i] = silu(x[t,i]) x[t, width + i]: gate and up stand side by side. Reads 4, writes 2 bytes per element.
void swiglu(std::uint16_t* y, std::uint16_t const* x, int tokens, int width, cudaStream_t stream);

// Rotates the two halves of each head in place; cosine and sine: [tokens, head_dim / 2] fp32. Reads 2, writes
// 2 bytes per element. head_dim a multiple of 16.
void rope(std::uint16_t* qk, float const* cosine, float const* sine, int tokens, int heads, int head_dim,
          cudaStream_t stream);

// z = x + y. Reads 4, writes 2 bytes per element.
void residual_add(std::uint16_t* z, std::uint16_t const* x, std::uint16_t const* y, int tokens, int width,
                  cudaStream_t stream);

// out[t] = logits[t, target[t]] - log(sum over v of exp(logits[t, v])), one pass over bf16 logits.
void log_softmax_gather(float* out, std::uint16_t const* logits, std::int32_t const* target, int tokens,
                        int vocab, cudaStream_t stream);

// One Adam step with decoupled weight decay: fp32 master, first and second moment, bf16 gradient in, bf16
// weight out. Reads 14, writes 14 bytes per parameter. count is a multiple of 8.
void adam(float* master, float* first, float* second, std::uint16_t const* gradient, std::uint16_t* weight,
          std::size_t count, cudaStream_t stream);

// Does nothing, with one block of one warp.
void empty_kernel(cudaStream_t stream);

}  // namespace rollcast
