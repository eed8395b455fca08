// The profile of any GPU: the built-in measured one, else one derived from it.
#pragma once

#include "models/hardware.hpp"
#include "models/profile.hpp"

namespace rollcast {

// A GPU with a built-in profile gets it. Another one gets the data-sheet shares of its kind (datasheet.hpp)
// and the kernels of the measured GPU that is nearest to it, as ratios to its own roofline, and its engines:
// A100-SXM-80GB for cards without fp8, H100-SXM for the others.
Profile profile_for(Gpu const& gpu);

}  // namespace rollcast
