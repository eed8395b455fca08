// Problems of options that order collectives.
#pragma once

#include <vector>

#include "models/job.hpp"
#include "scenarios/problem.hpp"

namespace rollcast {

// Keys are set, places are not.
std::vector<Problem> check_collectives(Job const& job);

}  // namespace rollcast
