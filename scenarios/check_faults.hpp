// Problems of faults against the rest of the job: ranks that are not there, phases that do not come.
#pragma once

#include <vector>

#include "models/job.hpp"
#include "scenarios/problem.hpp"

namespace rollcast {

std::vector<Problem> check_faults(Job const& job);

}  // namespace rollcast
