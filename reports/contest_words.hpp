// Parts of the sentences about a contest.
#pragma once

#include <string>

#include "reports/contest.hpp"

namespace rollcast {

// "1.10 to 1.30 with 95 % confidence over 5 paired seeds"
std::string interval_text(PairedRatio const& r, std::size_t seeds);

// Those that cannot win, each with the reason: "b: oom in 1 of 5 seeds, logits need 4 GiB". Empty: all can.
std::string others_text(Contest const& c);

}  // namespace rollcast
