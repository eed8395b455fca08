#include "models/sustained_clock.hpp"

namespace rollcast {

Seconds sustained_time(Seconds burst, Gpu const& gpu, GemmKind kind, double m, double n, double k,
                       double clock) {
  FlopsPerSecond const peak = kind != GemmKind::bf16 && gpu.fp8.value > 0 ? gpu.fp8 : gpu.bf16;
  double const share = Flops(2 * m * n * k) / peak / gemm_roofline(gpu, kind, m, n, k);
  return burst * (1 + (1 / clock - 1) * share);
}

}  // namespace rollcast
