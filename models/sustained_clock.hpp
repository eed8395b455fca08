// What a product takes at the clock that a GPU holds under load, from what it takes in short bursts.
#pragma once

#include "models/gemm_table.hpp"
#include "models/hardware.hpp"

namespace rollcast {

// burst x (1 + (1 / clock - 1) x share), share: of the kernel's roofline that is computing. Slowed by the
// whole of it is what computes, by as little as it computes what waits for the memory, which has its own
// clock. clock > 0, of the burst one.
Seconds sustained_time(Seconds burst, double share, double clock);

// Of a product: share = 2mnk / matrix_peak over gemm_roofline.
Seconds sustained_time(Seconds burst, Gpu const& gpu, GemmKind kind, double m, double n, double k,
                       double clock);

}  // namespace rollcast
