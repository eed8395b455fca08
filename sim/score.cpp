#include "sim/score.hpp"

#include "models/scoring.hpp"

namespace rollcast {
namespace {

// When the last sample is scored.
Seconds scored_by(ScoreWorkers const& workers, PhaseRun const& p) {
  RandomKey const first{p.run.options.seed, Purpose::score_time, static_cast<std::uint32_t>(p.batch.step), 0};
  ScoredSamples const scored = score(workers, p.batch.finished, first);
  return p.run.engine.now() + scored.exposed;
}

}  // namespace

void score_samples(PhaseRun& p) {
  Scoring const& s = p.run.job.score;
  Seconds const start = p.run.engine.now();
  Seconds scored = scored_by({s.workers, {FixedTime{s.seconds_per_sample}, {}}, s.overlap}, p);
  if (s.sandbox) {
    Sandbox const& box = *s.sandbox;
    scored = max(scored, scored_by({box.workers, distribution_of(box.seconds, box.timeout), s.overlap}, p));
  }
  Seconds const end = scored + p.run.job.framework.driver_per_step;
  char const* const label = s.sandbox ? "sandboxes score the samples" : "rules score the samples";
  for (int c = 0; c < p.pool.classes(); ++c) {
    int const number = p.pool.first_class() + c;
    p.recorder.span(number, Stream::host, Activity::driver, label, start, scored);
    p.recorder.span(number, Stream::host, Activity::driver, "controller", scored, end);
  }
  p.run.engine.delay(end - start);
}

}  // namespace rollcast
