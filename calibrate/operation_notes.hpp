// What a profile says of operations that none of its tables holds.
#pragma once

#include "calibrate/profile_text.hpp"
#include "models/hardware.hpp"

namespace rollcast {

// Appends a note for each operation of a run that has none in `p`, with what its price rests on: a number of
// the profile or of the data sheet with its source. log_softmax, cross_entropy, adam: bytes over bandwidth;
// sampling and cuda_graph_launch: fitted as a part of the engine's step; the others derived.
void add_unmeasured_notes(Gpu const& gpu, ProfileText& p);

}  // namespace rollcast
