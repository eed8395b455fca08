// Published cases that a built-in number was fitted on, and profiles without one of them.
#pragma once

#include <string>

#include "models/job.hpp"
#include "models/profile.hpp"

namespace rollcast {

// Whether the forecast of this case (the scenario's name and job) uses a number that was fitted on it:
//   the work of vLLM and SGLang between kernels   every case of I02, I06, I07 (generation_phases.hpp)
//   Transformers' generate                        six of R22's cases (static_phases.hpp)
//   host time of an operation, dequantization     S11, S04 and QLoRA of S01, S02 (adapter_steps.hpp)
bool is_fitted(std::string const& name, Job const& job);

// p with those numbers fitted anew: to the other sources (the id before the first "-"), of generate, which is
// fitted on one source, to the other cases. std::logic_error if the case is not fitted on.
Profile with_case_left_out(Profile p, std::string const& name, Job const& job);

}  // namespace rollcast
