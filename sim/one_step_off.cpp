#include <memory>

#include "sim/phases.hpp"
#include "sim/schedules.hpp"
#include "sim/step_record.hpp"

namespace rollcast {
namespace {

// A batch that an actor of its own generates.
struct Generation {
  Batch batch;
  bool done = false;
  Wake ready = {};
};

std::shared_ptr<Generation> start_generation(RunState& run, int step) {
  // Samples of the warm-up are those of a step that the run does not reach.
  int const draw = step < 0 ? run.options.steps - step : step;
  auto const g = std::make_shared<Generation>(
      Generation{.batch = {.step = step, .samples = samples_of_step(run.job, run.options.seed, draw)}});
  run.engine.spawn("rollout of step " + std::to_string(step + 1), [&run, g] {
    run_phase(run, g->batch, Phase::generate);
    g->done = true;
    run.engine.wake(g->ready);
  });
  return g;
}

void wait_for(RunState& run, Generation& g) {
  while (!g.done) run.engine.wait(g.ready);
}

}  // namespace

void run_one_step_off(RunState& run) {
  int const first = -warm_up_steps(run.job);
  std::shared_ptr<Generation> next = start_generation(run, first);
  for (int step = first; step < run.options.steps && !run.stopped; ++step) {
    Seconds const start = run.engine.now();
    auto const current = next;
    wait_for(run, *current);
    Batch& batch = current->batch;
    // What the trainer learned from the batch before reaches the engines before they go on.
    if (step > first && !run_phase(run, batch, Phase::weight_sync)) return;
    if (step + 1 < run.options.steps) next = start_generation(run, step + 1);
    if (run.stopped) return;
    hand_over_samples(run, batch);
    if (!run_phases(run, batch, without(training_phases(run.job, step), {Phase::weight_sync}))) return;
    // Generated with the weights of one update less than it was trained with.
    add(batch.staleness, 0, 1, static_cast<std::int64_t>(batch.samples.size()));
    record_step(run, batch, start);
  }
}

}  // namespace rollcast
