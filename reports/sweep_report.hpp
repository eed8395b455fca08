// A sweep in a few lines for the terminal.
#pragma once

#include <string>
#include <vector>

#include "reports/sweep.hpp"

namespace rollcast {

// How many points ended how, with the first reason of each; the best points by time per sample and by tokens
// per second and GPU, equal ones in the order of the grid.
std::string sweep_text(Sweep const& sweep, SweepResult const& result);

}  // namespace rollcast
