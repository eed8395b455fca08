// Published cases that a number of the built-in profiles was fitted on, and profiles without one of them.
#pragma once

#include <string>
#include <vector>

#include "models/profile.hpp"

namespace rollcast {

// Ids, sorted: the cases of calibrate/generation_phases.hpp that the shipped work of vLLM and SGLang between
// kernels was fitted on.
std::vector<std::string> const& fitted_cases();

// p with that work fitted anew to the others; std::logic_error if `id` is none of fitted_cases().
Profile with_case_left_out(Profile p, std::string const& id);

}  // namespace rollcast
