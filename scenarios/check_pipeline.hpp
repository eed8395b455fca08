// Problems between schedule, pools, scoring and batches.
#pragma once

#include <vector>

#include "models/job.hpp"
#include "scenarios/problem.hpp"

namespace rollcast {

// Keys are set, places are not.
std::vector<Problem> check_pipeline(Job const& job);

}  // namespace rollcast
