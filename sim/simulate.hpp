// One run of a scenario on SimGrid. One call per process (SimGrid allows one simulation per process).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/profile.hpp"
#include "scenarios/scenario.hpp"
#include "sim/event_log.hpp"

namespace rollcast {

struct RunOptions {
  int steps = 5;
  std::uint64_t seed = 1;
  // Memory follows the micro-batches as they are dealt, the largest so far; else it is that of the largest
  // that the job allows: a run of a few steps says nothing of the longest sequence that a whole one meets.
  bool memory_as_dealt = false;
  // What PyTorch's allocator of the rank that runs out of memory (else of the trainer's fullest that is
  // followed) did, into EventLog::snapshot.
  bool record_allocations = false;
};

// of_pools: the profile of each of pools_of(job), which must outlive the call. Same scenario, profiles and
// options: the same log. A layout that does not fit gives Outcome::oom or refused, not an exception;
// std::logic_error is a broken invariant of ours.
EventLog simulate(Scenario const& scenario, std::span<Profile const* const> of_pools,
                  RunOptions const& options);
EventLog simulate(Scenario const& scenario, std::vector<Profile> const& of_pools, RunOptions const& options);
// All pools with one profile.
EventLog simulate(Scenario const& scenario, Profile const& profile, RunOptions const& options);

}  // namespace rollcast
