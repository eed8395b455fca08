// Laws of memory passes from measured kernels.
#pragma once

#include <vector>

#include "calibrate/residuals.hpp"
#include "calibrate/sample.hpp"
#include "models/hardware.hpp"
#include "models/pass_prices.hpp"

namespace rollcast {

struct PassFit {
  PassLaw law;
  int rows = 0;  // that the law is made of; 0: too few for a law
  Residuals held_out;
};

// Rows of other GPUs or variants are left out. So that rows every 8 tokens do not outweigh a few large ones,
// rows of one width are first gathered by tokens: single counts up to 64, beyond by quarters of an octave,
// the medians of tokens and of times of each. The law has the least mean |log(price / measured)| over
// these, found by trying steps in the logarithm of one number after another, longer after success, shorter
// after none. At least three gathered points make a law. held_out: rows that the fit does not see.
PassFit fit_passes(Gpu const& gpu, ElementwisePass kind, std::vector<Sample> const& train,
                   std::vector<Sample> const& held_out);

}  // namespace rollcast
