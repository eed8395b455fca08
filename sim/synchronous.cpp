#include "sim/experience.hpp"
#include "sim/phases.hpp"
#include "sim/schedules.hpp"
#include "sim/step_record.hpp"

namespace rollcast {
namespace {

// Phases of training are collected, so that those run side by side that can, until one of the engines' comes.
bool run_step(RunState& run, Batch& batch) {
  std::vector<Phase> const order = step_phases(run.job);
  std::vector<Phase> training;
  // Switching phases stand where the framework has them, between the others.
  auto const flush = [&] {
    bool const good = run_phases(run, batch, training);
    training.clear();
    return good;
  };
  std::vector<Phase> const kept = training_phases(run.job, batch.step);
  for (Phase p : order) {
    bool const is_generation = contains({Phase::generate, Phase::sleep, Phase::wake}, p);
    if (!is_generation) {
      if (contains(kept, p)) training.push_back(p);
      continue;
    }
    if (!flush()) return false;
    Seconds const start = run.engine.now();
    if (!run_phase(run, batch, p)) return false;
    if (p != Phase::generate) continue;
    if (run.stopped) return false;
    score_beside_generation(run, batch, start);
    hand_over_samples(run, batch);
  }
  return flush();
}

// Weights change with every step; what a step before has begun is older (partial rollout).
void add_staleness(Batch& batch) {
  for (StepSample const& s : batch.samples)
    add(batch.staleness, s.generated > 0 ? s.draw_step : batch.step, batch.step);
}

}  // namespace

void run_synchronous(RunState& run) {
  for (int step = 0; step < run.options.steps; ++step) {
    Batch batch{.step = step, .samples = samples_of_step(run.job, run.options.seed, step)};
    Seconds const start = run.engine.now();
    if (!run_step(run, batch)) return;
    if (run.rollout) add_staleness(batch);
    record_step(run, batch, start);
  }
  if (run.background) wait_for_background(run, run.background->pool);
}

}  // namespace rollcast
