// `reliability: {...}`: how often the cluster fails, for a forecast of a long run.
#pragma once

#include <optional>

#include "models/reliability.hpp"
#include "scenarios/text/fields.hpp"

namespace rollcast {

void read_reliability(Fields& f, std::optional<ReliabilityOptions>& r);

}  // namespace rollcast
