// The keys of the blocks of a scenario that describe how the job is run.
#pragma once

#include "models/job.hpp"
#include "scenarios/text/fields.hpp"

namespace rollcast {

void describe(Fields& f, Algorithm& a);
void describe(Fields& f, TrainerOptions& t);
void describe(Fields& f, EngineOptions& e);
void describe(Fields& f, FrameworkOptions& o);
void describe(Fields& f, Scoring& s);

// `schedule: synchronous`, or `schedule: {async: {...}}`.
void read_schedule(Fields& f, Schedule& s);

}  // namespace rollcast
