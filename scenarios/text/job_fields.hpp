// The keys of the blocks of a scenario that describe how the job is run.
#pragma once

#include "models/job.hpp"
#include "scenarios/text/fields.hpp"

namespace rollcast {

// generates: prompts, samples, rollout (grpo, ppo) rather than a data set (sft, dpo).
bool generates(AlgorithmKind k);

void describe(Fields& f, Algorithm& a);
void describe(Fields& f, TrainerOptions& t);
void describe(Fields& f, EngineOptions& e);
void describe(Fields& f, FrameworkOptions& o);

// `schedule: synchronous`, or a map of one name.
void read_schedule(Fields& f, Schedule& s);

}  // namespace rollcast
