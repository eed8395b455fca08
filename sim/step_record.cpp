#include "sim/step_record.hpp"

namespace rollcast {

void record_step(RunState& run, Batch const& batch, Seconds start) {
  if (batch.step < 0) return;
  StepRecord record;
  record.start = start;
  record.end = run.engine.now();
  record.samples = static_cast<std::int64_t>(batch.samples.size());
  record.preemptions = batch.preemptions;
  record.generated_samples = batch.generated_samples;
  record.computed_tokens = batch.computed_tokens;
  record.useful_tokens = batch.useful_tokens;
  record.staleness = batch.staleness.samples;
  for (Sample const& s : batch.samples) {
    record.prompt_tokens += s.prompt_tokens;
    record.response_tokens += s.response_tokens;
  }
  run.log.steps.push_back(record);
}

}  // namespace rollcast
