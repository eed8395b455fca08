// Methods of weight synchronisation that a job cannot have, and options that its method does not use.
#pragma once

#include <vector>

#include "models/job.hpp"
#include "scenarios/problem.hpp"

namespace rollcast {

// key is set, file and line are not.
std::vector<Problem> check_weight_sync(Job const& job);

}  // namespace rollcast
