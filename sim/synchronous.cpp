#include "sim/experience.hpp"
#include "sim/phases.hpp"
#include "sim/schedules.hpp"
#include "sim/step_record.hpp"

namespace rollcast {
namespace {

constexpr int kFirstValidationPrompt = 1'000'000'000;  // beyond any of training

bool due(int every, int step) { return every > 0 && (step + 1) % every == 0; }

// One response to each of the validation's prompts, which are others than those of training. Before the sync
// the engine sleeps, and is woken for it.
bool validate(RunState& run, int step, bool sleeping) {
  Job const& job = run.job;
  Batch batch{.step = step};
  int last = -1;
  for (StepSample const& s :
       samples_of_step(job, run.options.seed, step, kFirstValidationPrompt, job.validation.prompts)) {
    if (s.prompt == last) continue;
    last = s.prompt;
    batch.samples.push_back(s);
    batch.samples.back().id = batch.samples.back().prompt = static_cast<int>(batch.samples.size()) - 1;
  }
  std::vector<Phase> const order = step_phases(job);
  for (Phase p : {Phase::wake, Phase::generate, Phase::sleep}) {
    bool const switches = p != Phase::generate;
    if (switches && (!sleeping || !contains(order, p))) continue;
    if (!run_validation_phase(run, batch, p)) return false;
  }
  return true;
}

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
    if (p == Phase::weight_sync && due(run.job.validation.every, batch.step) &&
        run.job.validation.before_sync) {
      if (!flush() || !validate(run, batch.step, true)) return false;
    }
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
  if (!flush()) return false;
  ValidationOptions const& v = run.job.validation;
  if (due(v.every, batch.step) && !v.before_sync && !validate(run, batch.step, false)) return false;
  return !due(run.job.checkpoint.every, batch.step) || run_phase(run, batch, Phase::checkpoint);
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
