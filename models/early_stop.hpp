// Oversampled rollouts that stop early: more groups are started than needed, and the phase ends when enough
// have finished.
#pragma once

#include <cstddef>
#include <vector>

#include "models/units.hpp"

namespace rollcast {

struct StartedGroup {
  Seconds finish;          // when its last sample is complete (and scored, where scoring overlaps); may be
                           // infinite
  bool has_signal = true;  // false: dynamic sampling drops it when it finishes
};

// What becomes of the groups, as indices in ascending order; each is in exactly one list.
struct EarlyStop {
  bool enough = false;                  // whether `needed` groups with signal finish at all
  Seconds end;                          // of the phase
  std::vector<std::size_t> kept;        // the first `needed` with signal, in order of finish (ties by index)
  std::vector<std::size_t> no_signal;   // finished by then and dropped
  std::vector<std::size_t> unneeded;    // finished with a signal at the very end, but not needed: thrown away
  std::vector<std::size_t> unfinished;  // aborted at the end: thrown away, or with partial rollout started
                                        // again with what they have, finished siblings as they are
};

// The phase ends with the finish of the last group kept. Where fewer than `needed` ever are, enough is false,
// end is the last finite finish (0 without any) and the caller starts more groups (slime: as many as its
// over_sampling_batch_size whenever fewer than needed are under way or kept). needed < 1 is a
// std::logic_error.
//
// As slime/rollout/sglang_rollout.py (generate_rollout_async, abort): groups are taken as they finish until
// rollout_batch_size are there, then all engines are aborted; with partial_rollout the unfinished groups go
// back to the buffer and come first in the next phase, else they are cancelled.
EarlyStop stop_early(std::vector<StartedGroup> const& groups, int needed);

// The finish of each group from its samples' completions, group_size consecutive samples each; a size that
// group_size does not divide is a std::logic_error.
std::vector<Seconds> group_finishes(std::vector<Seconds> const& completions, int group_size);

}  // namespace rollcast
