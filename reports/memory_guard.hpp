// How much memory a forecast will need on this machine, so that one that is too large is refused before it
// starts.
#pragma once

#include <optional>
#include <string>

#include "models/job.hpp"
#include "models/units.hpp"

namespace rollcast {

// An upper estimate from the sizes of the scenario alone, in constant time:
//
//   classes   of ranks with equal times, at most GPUs / (tp x cp) + GPUs / engine and one per GPU
//   spans     per step: classes x (4 per phase + gradient buckets x optimizer steps)
//             + samples x classes per replica x 8 (forward and backward of a micro-batch per stage,
//             log-probs, waits)
//   counters  per step: 12 per sample (start, finish, two preemptions; running, waiting, pages)
//             + classes x 16 per phase (memory lines)
//   memory    64 MiB + GPUs x 4 KiB (actor, ranks) + samples x 512 B (requests in flight)
//             + (spans x 72 B + counters x 40 B) x 6 (log, vectors that grow, timelines, output text)
//   serving   requests x 512 B (measured 160 to 330) + adapters x engines x 320 B (measured 240 to 270)
Bytes estimate_memory(Job const& job, int steps);

// Memory that programs can still take: MemAvailable of /proc/meminfo. Nothing where that cannot be read.
std::optional<Bytes> free_memory();

// What a forecast may take of it, unless the user says otherwise.
inline constexpr double kShareOfFreeMemory = 0.8;

// Why a forecast is not made on this machine, in one sentence; empty: it fits.
std::string memory_obstacle(Job const& job, int steps);

}  // namespace rollcast
