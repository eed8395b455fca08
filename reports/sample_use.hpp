// What became of the samples: how old they were, how many were of use, how much of the update is padding.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/event_log.hpp"

namespace rollcast {

// Sums over the completed steps. What the log does not tell is absent.
struct SampleUse {
  std::vector<std::int64_t> staleness;   // [k]: trained samples whose first token is k weight updates old
  std::optional<double> mean_staleness;  // sum of k staleness[k] / sum of staleness[k]
  std::int64_t generated = 0;            // also those that are thrown away; 0: nothing is generated
  std::int64_t trained = 0;
  std::optional<std::int64_t> with_signal;  // of the trained ones, those in groups whose rewards differ
  std::optional<double> padding_waste;      // of the actor's update: 1 - useful tokens / computed tokens
};

SampleUse sample_use(std::vector<StepRecord> const& steps);

}  // namespace rollcast
