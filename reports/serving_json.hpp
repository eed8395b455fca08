// A serving run's part of the JSON of a run.
#pragma once

#include <nlohmann/json.hpp>

#include "reports/serving_figures.hpp"

namespace rollcast {

// Keys as run_json_markdown() lists them; null of a run without a request.
nlohmann::ordered_json serving_json(ServingFigures const& f);

}  // namespace rollcast
