// What cannot be about the pools of a job: GPUs without a role, and GPUs that a role's model does not divide.
#pragma once

#include <vector>

#include "models/job.hpp"
#include "scenarios/problem.hpp"

namespace rollcast {

// Of a job with pools; its actor's and rollout's own layouts are check()'s.
std::vector<Problem> check_pools(Job const& job);

}  // namespace rollcast
