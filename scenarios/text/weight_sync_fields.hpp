// `weight_sync:` of a scenario.
#pragma once

#include "models/job.hpp"
#include "scenarios/text/fields.hpp"

namespace rollcast {

void read_weight_sync(Fields& f, Job& job);

}  // namespace rollcast
