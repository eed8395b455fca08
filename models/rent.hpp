// What the GPUs of a job cost.
#pragma once

#include <optional>

#include "models/job.hpp"

namespace rollcast {

// Of all GPUs of all pools: sum of GPUs x Gpu::dollars_per_hour. Nothing where one has no price.
std::optional<double> dollars_per_hour(Job const& job);

}  // namespace rollcast
