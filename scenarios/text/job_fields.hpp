// The keys of the blocks of a scenario that describe how the job is run.
#pragma once

#include "models/job.hpp"
#include "scenarios/text/fields.hpp"

namespace rollcast {

void describe(Fields& f, Algorithm& a);
void describe(Fields& f, TrainerOptions& t);
// gpu: of the engine's pool; limits that the file does not give are the engine's own for it.
// context: of the model.
void describe(Fields& f, EngineOptions& e, Gpu const& gpu, int context);
void describe(Fields& f, FrameworkOptions& o);
void describe(Fields& f, Scoring& s);
void describe(Fields& f, ValidationOptions& v);
void describe(Fields& f, CheckpointOptions& c);

// `schedule: synchronous`, or `schedule: {async: {...}}`.
void read_schedule(Fields& f, Schedule& s);

}  // namespace rollcast
