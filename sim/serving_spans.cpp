#include "sim/serving_spans.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace rollcast {
namespace {

constexpr std::size_t kMostSpans = 2048;
constexpr double kNoWait = 1e-9;  // of the time with requests: rounding

struct Stretch {
  Seconds start;
  Seconds held;  // with requests, from the start on
};

// With requests, without gaps.
std::vector<Stretch> stretches(std::vector<EnginePoint> const& curve) {
  std::vector<Stretch> out;
  bool open = false;
  for (EnginePoint const& p : curve) {
    bool const holds = p.running + p.waiting > 0;
    if (open) out.back().held = p.time - out.back().start;
    if (holds && !open) out.push_back({p.time, {}});
    open = holds;
  }
  return out;
}

// One for each of equal spans of time, where there are more than can be drawn.
std::vector<Stretch> thinned(std::vector<Stretch> const& all) {
  if (all.size() <= kMostSpans) return all;
  Seconds const first = all.front().start;
  Seconds const cell = (all.back().start + all.back().held - first) / static_cast<double>(kMostSpans);
  std::vector<Stretch> out;
  std::vector<Seconds> held(kMostSpans);
  for (Stretch const& s : all) {
    // A stretch may reach into the cells behind its own.
    Seconds at = s.start;
    Seconds const end = s.start + s.held;
    for (auto c = static_cast<std::size_t>((at - first) / cell); at < end; ++c) {
      bool const last = c + 1 >= kMostSpans;
      Seconds const until = last ? end : min(end, first + cell * static_cast<double>(c + 1));
      held[std::min(c, kMostSpans - 1)] += max(Seconds(0), until - at);
      at = max(at, until);
      if (last) break;
    }
  }
  for (std::size_t c = 0; c < kMostSpans; ++c) {
    if (held[c].value > 0) out.push_back({first + cell * static_cast<double>(c), min(held[c], cell)});
  }
  return out;
}

}  // namespace

void record_served(PhaseRecorder const& recorder, int rank_class, RolloutEngine const& engine,
                   RolloutWork const& work) {
  std::vector<Stretch> const all = stretches(engine.curve());
  Seconds held;
  for (Stretch const& s : all) held += s.held;
  if (!(held.value > 0)) return;
  double const busy = std::min(1.0, engine.counters().busy / held);
  for (Stretch const& s : thinned(all)) {
    double const share = s.held / held;
    Seconds const end = s.start + s.held;
    Seconds const computed = 1 - busy < kNoWait ? end : s.start + s.held * busy;
    recorder.span(rank_class, Stream::compute, Activity::compute, "generate", s.start, computed,
                  work.flops * share, work.hbm * share);
    recorder.span(rank_class, Stream::compute, Activity::driver, "waits for adapters", computed, end);
  }
}

}  // namespace rollcast
