// Checkpoints and the forecast of a long run with failures.
#pragma once

#include <vector>

#include "models/job.hpp"
#include "scenarios/problem.hpp"

namespace rollcast {

std::vector<Problem> check_reliability(Job const& job);

}  // namespace rollcast
