// The workload that the rollout benchmark measures and the engine's test checks at full size: 1,024 requests
// at t = 0, prompts of 512 tokens, responses log-normal(7.2, 0.8), Llama-3.1-8B in bf16 on one H100.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "models/lengths.hpp"
#include "models/rollout_engine.hpp"

namespace rollcast::workload1024 {

inline constexpr int kRequests = 1024;
inline constexpr int kPrompt = 512;

// Llama-3.1-8B in bf16 on one H100 SXM: 8.03e9 parameters (16.06 GB), KV 2 x 32 layers x 8 heads x 128 x 2 B
// = 131,072 B per token; data sheet: 3.35 TB/s, 989 TFLOP/s in bf16, of which the matrix products reach 60 %.
inline constexpr double kWeightBytes = 16.06e9;
inline constexpr double kParameters = 8.03e9;
inline constexpr double kKvBytesPerToken = 131'072;
inline constexpr double kBandwidth = 3.35e12;
inline constexpr double kFlops = 0.6 * 989e12;

// Utilization 0.9 of the 79.1 GiB that a process sees, less the weights and 3 GiB of activations and graphs,
// in pages of 16 tokens: 436,000 tokens, where the finished sequences together hold 2.4 million.
inline constexpr std::int64_t kKvBlocks = static_cast<std::int64_t>(
    (0.9 * 79.1 * 1073741824.0 - kWeightBytes - 3 * 1073741824.0) / (kKvBytesPerToken * 16));

// scale: how many times longer the responses are, with a pool and a budget as many times larger: about the
// same events in `scale` times as many steps.
inline std::int64_t kv_blocks(int scale = 1) { return kKvBlocks * scale; }

inline EngineOptions options(int scale = 1) {
  EngineOptions o;
  o.block_size = 16;
  o.max_num_seqs = kRequests;
  o.max_num_batched_tokens = 8192 * scale;
  return o;
}

inline std::vector<Request> requests(int scale = 1) {
  Lengths const lengths{LogNormalLength{7.2, 0.8, 0}};
  std::vector<Request> result;
  for (int i = 0; i < kRequests; ++i) {
    RandomKey const key{1, Purpose::response_length, 0, static_cast<std::uint64_t>(i)};
    result.push_back({i, -1, kPrompt, sample(lengths, key, 0) * scale});
  }
  return result;
}

// Step = 1.5 ms + the weights once, or 2 FLOPs per parameter and token, + the KV of the batch at full
// bandwidth.
inline StepPrices linear_prices() {
  StepPrices p;
  p.fixed = seconds(1.5e-3 + kWeightBytes / kBandwidth);
  p.per_sequence = seconds(2e-6);
  p.dense = {{0, 8192}, {0, 8192 * 2 * kParameters / kFlops}};
  p.batch_knots = {1024};
  p.context_knots = {0, 131'072};
  p.decode_attention = {{0, 1024 * 131'072 * kKvBytesPerToken / kBandwidth}};
  p.prefill = {{0, 1}, {0, 4.0 * 32 * 4096 / kFlops}};
  return p;
}

// The same physics on 12 x 20 knots, with an attention kernel that comes slowly to its bandwidth and a dense
// part that is the larger of weights and FLOPs: nothing is linear over more than one cell.
inline StepPrices table_prices() {
  StepPrices p = linear_prices();
  p.fixed = seconds(1.5e-3);
  p.dense = {};
  for (double tokens = 1; tokens <= 8192; tokens *= 2) {
    p.dense.x.push_back(tokens);
    p.dense.y.push_back(std::max(kWeightBytes / kBandwidth, 2 * kParameters * tokens / kFlops) +
                        1e-7 * tokens);
  }
  p.batch_knots = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 768, 1024};
  p.context_knots = {};
  for (double c = 16; c <= 131'072; c *= 1.6) p.context_knots.push_back(c);
  p.decode_attention.clear();
  for (double b : p.batch_knots) {
    p.decode_attention.emplace_back();
    for (double c : p.context_knots) {
      double const bytes = b * c * kKvBytesPerToken;
      p.decode_attention.back().push_back(1e-4 + bytes / kBandwidth * (1.1 + 0.5 / (1.0 + b * c / 1e5)));
    }
  }
  return p;
}

}  // namespace rollcast::workload1024
