// Lengths made longer or shorter, as the value of a scenario's key.
#pragma once

#include <string>

#include "models/lengths.hpp"

namespace rollcast {

// YAML of the lengths times `factor`, before the cut at max, which stays: "{lognormal: {mu: 7, sigma: 0.7},
// max: 4096}". Single lengths are rounded to whole tokens, of at least 1. growth_per_step is a key of its own
// and not in it. factor > 0.
std::string scaled_lengths(Lengths const& l, double factor);

}  // namespace rollcast
