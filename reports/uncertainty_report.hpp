// Bands of a run's figures, for people and for programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "reports/uncertainty.hpp"

namespace rollcast {

// A table of forecast, p10 - p50 - p90 of the draws, and p10 and p90 with the model's own error; then which
// prices move the step time most. Lines of up to `width` columns but for long names.
std::string uncertainty_text(Uncertainty const& u, int width);

// The value of "uncertainty" (scenarios/SCHEMA.md).
nlohmann::ordered_json uncertainty_json(Uncertainty const& u);

}  // namespace rollcast
