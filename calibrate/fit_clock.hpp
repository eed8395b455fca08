// The clock that a GPU holds under load, of its clock in short bursts, from measured products.
#pragma once

#include <string>
#include <vector>

#include "calibrate/residuals.hpp"
#include "calibrate/sample.hpp"
#include "models/gemm_table.hpp"
#include "models/hardware.hpp"

namespace rollcast {

struct ClockFit {
  double clock = 1;    // 0 < clock <= 1
  int rows = 0;        // 0: none, and no clock
  std::string spread;  // of each software: rows, median, 10th and 90th percentile
  Residuals held_out;
};

// Sustained bf16 products of this GPU with m > 1,024, n and k >= 1,024 whose roofline is FLOPs: burst price
// over measured time. Small ones tell kernels apart, not clocks. Two softwares differ by their kernels too:
// the clock is the mean of their medians, not more than 1. held_out: rows that the fit does not see, of the
// same sizes.
ClockFit fit_clock(Gpu const& gpu, GemmTable const& burst, std::vector<Sample> const& train,
                   std::vector<Sample> const& held_out);

}  // namespace rollcast
