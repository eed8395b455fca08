// The longest sequence for which every phase of a job fits.
#pragma once

#include <cstdint>

#include "models/job.hpp"

namespace rollcast {

// Prompt and response together, in tokens, when every sequence is as long: each pool's ledger is asked with
// prompts and responses of half that length; the engines must start, and no GPU and no node may need more
// than it has. At most the model's context; 0: not even two tokens fit. max_model_len and the longest lengths
// of the workload do not count; a budget of packed tokens that is larger than the sequence stays as it is.
std::int64_t longest_fitting_sequence(Job const& job);

}  // namespace rollcast
