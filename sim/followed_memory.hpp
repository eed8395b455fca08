// One rank of every pipeline stage followed through PyTorch's allocator: the rank with the largest
// micro-batch of each phase. Phase after phase it lets go and takes what its ledger says, and runs the
// program of what it computes, so that what an earlier phase left in the cache is there in the next.
//
// Only where the ledger's peak is at least 60 % of the card's memory, streams are made anew, or what the
// allocator does is asked for: elsewhere nothing can run out of memory.
#pragma once

#include <optional>
#include <string>

#include "sim/run_state.hpp"

namespace rollcast {

void follow_memory(PoolState& pool, RunOptions const& options);

// Of the trainer's fullest rank that is followed, into EventLog::snapshot, where the run has left none there;
// only with RunOptions::record_allocations.
void keep_snapshot(RunState& run);

// "": no allocator had to give its cache back to find room.
std::string retries_note(RunState const& run);

// Takes the pool's ranks through the phase under way, computed by `team` (none: nothing is computed). At an
// allocation that fails: when and which; the time is that of the allocation, at or after now.
std::optional<OomRecord> follow_phase(PhaseRun const& p, Team* team);

// Counters of what PyTorch held, micro-batch by micro-batch, once the phase has run from `start` until now.
void record_followed(PhaseRun const& p, Seconds start);

}  // namespace rollcast
