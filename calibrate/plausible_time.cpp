#include "calibrate/plausible_time.hpp"

#include <algorithm>
#include <string>

#include "calibrate/predictor.hpp"
#include "models/gemm_table.hpp"
#include "models/moe_table.hpp"

namespace rollcast {
namespace {

constexpr double kBeyondPeak = 3;
constexpr double kLongest = 1e4;
constexpr Seconds kOneKernel(1e-7);
constexpr Seconds kShortTime(1e-3);

Seconds prefill_time(Gpu const& gpu, Sample const& s) {
  double const length = s.shape[1];
  double const pairs = s.shape[0] * length * std::min(s.shape[2] + length / 2, window_of(s.variant));
  return Flops(4 * pairs * s.shape[3] * s.shape[5]) / max(gpu.bf16, gpu.fp8);
}

Seconds backward_time(Gpu const& gpu, Sample const& s) {
  double const length = s.shape[1];
  double const pairs = s.shape[0] * length * std::min(length / 2, window_of(s.variant));
  return Flops(10 * pairs * s.shape[2] * s.shape[4]) / gpu.bf16;
}

Seconds decode_time(Gpu const& gpu, Sample const& s) {
  double const context = std::min(s.shape[1], window_of(s.variant));
  double const element = s.dtype == "fp8" ? 1 : 2;
  return bytes(2 * s.shape[0] * context * s.shape[3] * s.shape[4] * element) / gpu.memory_bandwidth;
}

Seconds roofline(Gpu const& gpu, Sample const& s) {
  auto const kind = gemm_kind_of(s.dtype);
  if (s.operation == "gemm" && kind) return gemm_roofline(gpu, *kind, s.shape[0], s.shape[1], s.shape[2]);
  if (s.operation == "moe" && kind)
    return moe_roofline(gpu, *kind, {s.shape[1], s.shape[2], s.shape[3], s.shape[4], s.shape[5], s.shape[6]},
                        s.shape[0]);
  if (s.operation == "attention_prefill") return prefill_time(gpu, s);
  if (s.operation == "attention_backward") return backward_time(gpu, s);
  if (s.operation == "attention_decode") return decode_time(gpu, s);
  if (s.operation == "memory_pass") {
    auto const moved = bytes_of_pass(s.variant, s.shape[0] * s.shape[1]);
    return moved ? *moved / gpu.memory_bandwidth : Seconds(0);
  }
  if (s.operation == "launch") return kOneKernel * s.shape[0];
  BytesPerSecond const link = max(gpu.nvlink, gpu.pcie);
  if (s.operation == "copy") return bytes(s.shape[0]) / (s.variant == "peer" ? link : gpu.pcie);
  if (is_collective(s.operation)) return bytes(s.shape[0] * (s.shape[1] - 1) / s.shape[1]) / link;
  return Seconds(0);
}

}  // namespace

Seconds least_time(Gpu const& gpu, Sample const& s) { return max(kOneKernel, roofline(gpu, s)); }

TimeJudgement judge_time(Gpu const& gpu, Sample const& s) {
  Seconds const least = least_time(gpu, s);
  if (s.seconds * kBeyondPeak < least) return TimeJudgement::too_short;
  bool const waits = s.operation == "served_ttft";
  if (!waits && s.seconds > max(least, kShortTime) * kLongest) return TimeJudgement::too_long;
  return TimeJudgement::plausible;
}

}  // namespace rollcast
