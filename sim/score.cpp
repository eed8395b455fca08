#include "sim/score.hpp"

#include <algorithm>

#include "models/scoring.hpp"

namespace rollcast {
namespace {

// When the last sample is scored.
Seconds scored_by(ScoreWorkers const& workers, PhaseRun const& p) {
  RandomKey const first{p.run.options.seed, Purpose::score_time, static_cast<std::uint32_t>(p.batch.step), 0};
  ScoredSamples const scored = score(workers, p.batch.finished, first);
  return p.run.engine.now() + scored.exposed;
}

// Engines with a loop of their own have waited for the scores already (rollout_loop).
bool is_scored(RunState const& run) {
  return run.job.score.overlap && run.rollout->job.rollout.kind != EngineKind::hf;
}

Seconds scored_by_all(PhaseRun const& p) {
  Scoring const& s = p.run.job.score;
  Seconds const rules = scored_by({s.workers, {FixedTime{rule_time(s)}, {}}, s.overlap}, p);
  if (!s.sandbox) return rules;
  Sandbox const& box = *s.sandbox;
  return max(rules, scored_by({box.workers, distribution_of(box.seconds, box.timeout), s.overlap}, p));
}

// One sample runs into the time-out, where there is one; else the run ends there (sim/faults.cpp).
bool scoring_hangs(PhaseRun const& p) {
  auto const& faults = p.run.job.faults;
  return std::any_of(faults.begin(), faults.end(), [&](Fault const& f) {
    return f.kind == FaultKind::hang && f.ranks.empty() && f.step == p.batch.step && f.phase == p.phase;
  });
}

}  // namespace

void score_samples(PhaseRun& p) {
  Seconds const start = p.run.engine.now();
  Seconds scored = is_scored(p.run) ? start : scored_by_all(p);
  if (scoring_hangs(p)) {
    if (!(p.run.job.score.timeout.value > 0)) {
      Wake never;  // the fault ends the run
      p.run.engine.wait(never);
    }
    scored += p.run.job.score.timeout;
  }
  Seconds const end = scored + p.run.job.framework.driver_per_step;
  char const* const label =
      p.run.job.score.sandbox ? "sandboxes score the samples" : "rules score the samples";
  for (int c = 0; c < p.pool.classes(); ++c) {
    int const number = p.pool.first_class() + c;
    p.recorder.span(number, Stream::host, Activity::driver, label, start, scored);
    p.recorder.span(number, Stream::host, Activity::driver, "controller", scored, end);
  }
  p.run.engine.delay(end - start);
}

}  // namespace rollcast
