// A profile from data sheets alone: published peaks times cited efficiencies.
//
// Two cards have measured tables: H100-SXM and A100-SXM4-80GB. A share is the median of its table over a rule
// that its source text states, chosen without looking at any end-to-end run. Every other card takes the
// shares of one of the two and says so in each source: Hopper and Blackwell those of H100-SXM, all else those
// of A100-SXM4-80GB; the matrix rate is scaled where the card's best rate is published.
#pragma once

#include "models/profile.hpp"

namespace rollcast {

Profile datasheet_profile(Gpu const& gpu);

}  // namespace rollcast
