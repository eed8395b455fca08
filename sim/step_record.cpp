#include "sim/step_record.hpp"

#include <algorithm>

#include "sim/faults.hpp"

namespace rollcast {
namespace {

std::int64_t samples_with_signal(RunState const& run, Batch const& batch) {
  return std::count_if(batch.samples.begin(), batch.samples.end(), [&](StepSample const& s) {
    return has_signal(run.job, run.options.seed, batch.step, s.prompt);
  });
}

}  // namespace

void record_step(RunState& run, Batch const& batch, Seconds start) {
  grow_leaks(run, batch.step);
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
  if (run.job.algorithm.equal_reward_groups > 0) record.signal_samples = samples_with_signal(run, batch);
  for (StepSample const& s : batch.samples) {
    record.prompt_tokens += s.prompt_tokens;
    record.response_tokens += s.response_tokens;
  }
  run.log.steps.push_back(record);
}

}  // namespace rollcast
