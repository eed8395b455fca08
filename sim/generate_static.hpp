// Generation by Transformers' generate(): every engine takes its samples a batch at a time, and a batch ends
// as a whole.
#pragma once

#include "sim/run_state.hpp"

namespace rollcast {

// Runs in the calling actor. Batches of rollout.feed samples, of all of an engine's where that is 0. A rank
// whose batch is done while others that gather with it go on adds nothing to its cache. Where a growing cache
// overfills a GPU: the first that does, at the token at which it does; nothing is written then.
std::optional<OomRecord> generate_static(PhaseRun& p);

}  // namespace rollcast
