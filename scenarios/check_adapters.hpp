// Whether several adapters can be trained side by side.
#pragma once

#include <vector>

#include "models/job.hpp"
#include "scenarios/problem.hpp"

namespace rollcast {

std::vector<Problem> check_adapters(Job const& job);

}  // namespace rollcast
