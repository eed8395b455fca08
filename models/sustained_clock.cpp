#include "models/sustained_clock.hpp"

namespace rollcast {

Seconds sustained_time(Seconds burst, double share, double clock) {
  return burst * (1 + (1 / clock - 1) * share);
}

Seconds sustained_time(Seconds burst, Gpu const& gpu, GemmKind kind, double m, double n, double k,
                       double clock) {
  Seconds const compute = Flops(2 * m * n * k) / matrix_peak(gpu, kind);
  return sustained_time(burst, compute / gemm_roofline(gpu, kind, m, n, k), clock);
}

}  // namespace rollcast
