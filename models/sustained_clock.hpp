// What a product takes at the clock that a GPU holds under load, from what it takes in short bursts.
#pragma once

#include "models/gemm_table.hpp"
#include "models/hardware.hpp"

namespace rollcast {

// burst x (1 + (1 / clock - 1) x share), share = 2mnk / peak over gemm_roofline: a product that computes is
// slowed by the whole of it, one that waits for the memory by as little as it computes, since the memory has
// its own clock. clock > 0, of the burst one.
Seconds sustained_time(Seconds burst, Gpu const& gpu, GemmKind kind, double m, double n, double k,
                       double clock);

}  // namespace rollcast
