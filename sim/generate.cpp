// The rollout phase of a synchronous step: every engine gets a contiguous share of the samples and runs dry.
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

void record_curve(RunState& run, int rank_class, RolloutEngine const& engine) {
  for (EnginePoint const& point : engine.curve()) {
    auto const add = [&](CounterKind kind, double value) {
      run.recorder.counter({.rank_class = rank_class, .kind = kind, .time = point.time, .value = value});
    };
    add(CounterKind::running, point.running);
    add(CounterKind::waiting, point.waiting);
    add(CounterKind::kv_blocks, static_cast<double>(point.used_blocks));
  }
}

}  // namespace

void generate(RunState& run) {
  Seconds const start = run.engine.now();
  auto const shares = shard(run.samples, static_cast<int>(run.placement.classes_of_engine.size()));
  std::vector<Seconds> ends;
  Seconds last = start;
  for (std::size_t e = 0; e < shares.size(); ++e) {
    RolloutEngine engine(run.job.rollout, run.kv_blocks, run.step_prices);
    engine.submit(requests_of(shares[e]), start);
    std::vector<Completion> completions;
    Seconds const end = shares[e].empty() ? start : engine.run_to_end(completions);
    EngineCounters const& c = engine.counters();
    run.log.steps.back().preemptions += c.preemptions;
    // A step computes the first token of a sequence in its prefill, so dense tokens are prefill plus the
    // rest.
    double const tokens =
        static_cast<double>(c.prefill_tokens + c.generated_tokens) - static_cast<double>(shares[e].size());
    RolloutWork const work = rollout_work(run.job.model, run.job.rollout, tokens, c.decode_context_sum,
                                          static_cast<double>(c.steps));
    for (int rank_class : run.placement.classes_of_engine[e]) {
      run.recorder.span(rank_class, Stream::compute, Activity::compute, "generate", start, end, work.flops,
                        work.hbm);
    }
    record_curve(run, run.placement.classes_of_engine[e].front(), engine);
    ends.push_back(end);
    last = max(last, end);
  }
  for (std::size_t e = 0; e < ends.size(); ++e) {
    for (int rank_class : run.placement.classes_of_engine[e]) {
      run.recorder.span(rank_class, Stream::compute, Activity::rollout_tail, "other engines still generate",
                        ends[e], last);
    }
  }
  run.engine.delay(last - start);
}

}  // namespace rollcast
