#include "models/group_signal.hpp"

#include <algorithm>
#include <cmath>

namespace rollcast {

bool has_signal(double equal_share, RandomKey key) {
  key.purpose = Purpose::reward_signal;
  return uniform(key) >= equal_share;
}

int prompts_per_round(int needed, double oversampling) {
  return std::max(1, static_cast<int>(std::ceil(oversampling * needed - 1e-9)));
}

}  // namespace rollcast
