// What cannot be about requests, adapters and the engines that serve them.
#pragma once

#include <vector>

#include "models/job.hpp"
#include "scenarios/problem.hpp"

namespace rollcast {

// Empty for a job that trains. Lengths and the engines' layout are check()'s. With execution none and
// deployments no adapter moves, and the keys of the pool are not looked at, so that a file with a pool can be
// run as these by one key.
std::vector<Problem> check_serve(Job const& job);

}  // namespace rollcast
