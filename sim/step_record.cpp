#include "sim/step_record.hpp"

namespace rollcast {

void record_step(RunState& run, Batch const& batch, Seconds start) {
  if (batch.step < 0) return;
  StepRecord record;
  record.start = start;
  record.end = run.engine.now();
  record.samples = static_cast<std::int64_t>(batch.samples.size());
  record.preemptions = batch.preemptions;
  for (Sample const& s : batch.samples) {
    record.prompt_tokens += s.prompt_tokens;
    record.response_tokens += s.response_tokens;
  }
  run.log.steps.push_back(record);
}

}  // namespace rollcast
