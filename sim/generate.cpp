// The rollout phase of a synchronous step: every engine gets a contiguous share of the samples and runs dry.
#include <cmath>

#include "models/rollout_engine.hpp"
#include "models/rollout_prices.hpp"
#include "sim/run_state.hpp"

namespace rollcast {
namespace {

std::vector<Request> requests_of(std::vector<Sample> const& share) {
  std::vector<Request> requests;
  requests.reserve(share.size());
  for (Sample const& s : share) requests.push_back({s.id, s.prompt, s.prompt_tokens, s.response_tokens});
  return requests;
}

// An engine that preempts in every step has millions of points; nobody looks at more than these.
constexpr std::size_t kMostPoints = 4096;

// The last point of each of kMostPoints equal spans of time, where there are more points than that.
std::vector<EnginePoint> thinned(std::vector<EnginePoint> const& curve) {
  if (curve.size() <= kMostPoints) return curve;
  Seconds const start = curve.front().time;
  double const cells = static_cast<double>(kMostPoints - 1) / (curve.back().time - start).value;
  auto const cell = [&](EnginePoint const& p) { return std::floor((p.time - start).value * cells); };
  std::vector<EnginePoint> out;
  for (std::size_t i = 0; i < curve.size(); ++i) {
    if (i + 1 == curve.size() || cell(curve[i]) < cell(curve[i + 1])) out.push_back(curve[i]);
  }
  return out;
}

void record_curve(PhaseRecorder const& recorder, int rank_class, RolloutEngine const& engine) {
  for (EnginePoint const& point : thinned(engine.curve())) {
    auto const add = [&](CounterKind kind, double value) {
      recorder.counter({.rank_class = rank_class, .kind = kind, .time = point.time, .value = value});
    };
    add(CounterKind::running, point.running);
    add(CounterKind::waiting, point.waiting);
    add(CounterKind::kv_blocks, static_cast<double>(point.used_blocks));
  }
}

}  // namespace

void generate(PhaseRun& p) {
  RolloutPool const& rollout = *p.run.rollout;
  Seconds const start = p.run.engine.now();
  auto const shares = shard(p.batch.samples, rollout.engines());
  auto const& classes_of_engine = p.pool.placement.classes_of_engine;
  p.batch.engine_of.assign(p.batch.samples.size(), 0);
  std::vector<Seconds> ends;
  Seconds last = start;
  for (std::size_t e = 0; e < shares.size(); ++e) {
    RolloutEngine engine(rollout.job.rollout, rollout.kv_blocks, rollout.prices, rollout.least_prefill_step);
    engine.submit(requests_of(shares[e]), start);
    for (Sample const& s : shares[e]) p.batch.engine_of[static_cast<std::size_t>(s.id)] = static_cast<int>(e);
    std::vector<Completion> completions;
    Seconds const end = shares[e].empty() ? start : engine.run_to_end(completions);
    EngineCounters const& c = engine.counters();
    p.batch.preemptions += c.preemptions;
    // A step computes the first token of a sequence in its prefill, so dense tokens are prefill plus the
    // rest.
    double const tokens =
        static_cast<double>(c.prefill_tokens + c.generated_tokens) - static_cast<double>(shares[e].size());
    RolloutWork const work = rollout_work(rollout.job.model, rollout.job.rollout, tokens,
                                          c.decode_context_sum, static_cast<double>(c.steps));
    for (int rank_class : classes_of_engine[e]) {
      p.recorder.span(rank_class, Stream::compute, Activity::compute, "generate", start, end, work.flops,
                      work.hbm);
    }
    record_curve(p.recorder, classes_of_engine[e].front(), engine);
    ends.push_back(end);
    last = max(last, end);
  }
  for (std::size_t e = 0; e < ends.size(); ++e) {
    for (int rank_class : classes_of_engine[e]) {
      p.recorder.span(rank_class, Stream::compute, Activity::rollout_tail, "other engines still generate",
                      ends[e], last);
    }
  }
  p.run.engine.delay(last - start);
  p.batch.generated = last;
}

}  // namespace rollcast
