// The block `measured`: what a real run showed.
#pragma once

#include <optional>

#include "scenarios/scenario.hpp"
#include "scenarios/text/fields.hpp"

namespace rollcast {

void read_measured(Fields& f, std::optional<Measured>& m);

}  // namespace rollcast
