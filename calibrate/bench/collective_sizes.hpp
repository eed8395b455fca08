// Message sizes of the collectives as every rank counts its part.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rollcast {

// Elements of a message of at most `bytes`, so that every rank has the same whole number of them: `elements`
// is a multiple of `ranks` where the operation divides the message over the ranks (all_gather,
// reduce_scatter, all_to_all). 0: the message is too small.
std::int64_t message_elements(std::string const& operation, std::int64_t bytes, std::int64_t element,
                              int ranks);

// GPUs of a node whose collectives are timed one after the other: 2, 4, 8, ... and all `gpus`. {1} for one.
std::vector<std::int64_t> team_sizes(std::int64_t gpus);

// smallest, then each twice the one before, up to largest.
std::vector<std::int64_t> doubled_sizes(std::int64_t smallest, std::int64_t largest);

}  // namespace rollcast
