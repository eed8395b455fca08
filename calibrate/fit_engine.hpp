// The overhead of a rollout engine from served points.
#pragma once

#include <optional>
#include <vector>

#include "calibrate/residuals.hpp"
#include "calibrate/sample.hpp"
#include "models/engine_overhead.hpp"
#include "models/profile.hpp"

namespace rollcast {

struct EngineFit {
  EngineOverhead overhead;  // without a source
  Residuals train;          // |price / measured - 1| of the time per token
};

// TRT-LLM: step and launch that make the mean square of log(price / measured) of the time per token least, by
// pattern search down to 12.5 us and 0.5 us. per_sequence is 0: work per sequence is hidden behind the
// GPU (asynchronous scheduling), and the points do not show any. nullopt: no sample that served_point knows.
std::optional<EngineFit> fit_engine(Profile const& kernels, std::vector<Sample> const& samples);

// The same errors of other points with a given overhead.
Residuals check_engine(Profile const& kernels, EngineOverhead const& overhead,
                       std::vector<Sample> const& samples);

}  // namespace rollcast
