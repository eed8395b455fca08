// Problems of options that only mean something beside others.
#pragma once

#include <vector>

#include "models/job.hpp"
#include "scenarios/problem.hpp"

namespace rollcast {

// Keys are set, places are not.
std::vector<Problem> check_memory(Job const& job);

}  // namespace rollcast
