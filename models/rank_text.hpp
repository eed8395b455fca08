// Ranks in words.
#pragma once

#include <string>
#include <vector>

namespace rollcast {

// "0-16, 18-63" and "2, 3", of different ranks in any order; long lists end in "...".
std::string rank_list(std::vector<int> ranks);
// "rank 3", "ranks 0-2, 5", "no rank".
std::string named_ranks(std::vector<int> ranks);
// "rank 17", "63 ranks (0-16, 18-63)".
std::string counted_ranks(std::vector<int> ranks);

}  // namespace rollcast
