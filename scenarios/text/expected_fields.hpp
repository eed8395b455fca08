// The block `expected`: what a run must come to.
#pragma once

#include <optional>

#include "scenarios/scenario.hpp"
#include "scenarios/text/fields.hpp"

namespace rollcast {

void read_expected(Fields& f, std::optional<Expected>& e);

}  // namespace rollcast
