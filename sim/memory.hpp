// Memory of a run from the ledger: what each phase holds, and the first phase that does not fit.
#pragma once

#include <optional>

#include "sim/run_state.hpp"

namespace rollcast {

// The pool's ledgers and those of the log, for the largest micro-batches so far.
void take_ledgers(RunState& run, PoolState& pool);

// The micro-batches of the phase under way, which a team computes, into RunState::largest and the ledgers;
// only with RunOptions::memory_as_dealt.
void note_micro_batches(PhaseRun const& p, Team const& team);

// Writes the counters of every rank class of the pool for the phase under way.
void record_memory(PhaseRun const& p);

// A host that loading the models overfills: the run ends before its first step.
std::optional<OomRecord> out_of_memory_at_load(RunState const& run);

// The host of the fullest node, where this phase overfills it, with its largest line as the allocation. GPUs
// are in sim/followed_memory.hpp.
std::optional<OomRecord> out_of_memory(PhaseRun const& p);

}  // namespace rollcast
