#include "models/goodput.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <queue>
#include <stdexcept>
#include <vector>

#include "models/quantile.hpp"
#include "models/random.hpp"

namespace rollcast {
namespace {

constexpr int kMostSteps = 1'000'000'000;

// Training from a start or restart on, without a failure.
class Stretch {
 public:
  Stretch(LongRun const& run, int every)
      : work_(run.step * every),
        first_(work_ + run.checkpoint),
        pause_(run.checkpoint + max(Seconds(0), run.write - work_)),
        write_(run.write) {}

  // Steps done after `time`, with what is done of the one under way.
  Seconds work(Seconds time) const {
    if (time < work_) return time;
    if (time < first_) return work_;
    Seconds const period = work_ + pause_;
    Seconds const since = time - first_;
    double const periods = std::floor(since / period);
    return work_ * (periods + 1) + min(work_, since - period * periods);
  }
  Seconds saved(Seconds time) const {
    Seconds const since = time - first_ - write_;
    return since < Seconds(0) ? Seconds(0) : work_ * (std::floor(since / (work_ + pause_)) + 1);
  }

 private:
  Seconds work_;
  Seconds first_;  // until the end of the first checkpoint, which waits for no write
  Seconds pause_;
  Seconds write_;
};

class Failures {
 public:
  Failures(Seconds mean, std::uint64_t seed, std::uint32_t number)
      : mean_(mean), key_{seed, Purpose::node_failure, number, 0}, next_(gap()) {}

  Seconds next() const { return next_; }
  void pass() {
    ++key_.index;
    next_ += gap();
  }

 private:
  Seconds gap() const { return mean_ * -portable_log(uniform(key_)); }

  Seconds mean_;
  RandomKey key_;
  Seconds next_;
};

// When each node that stands by, or will, is there.
class Spares {
 public:
  Spares(int count, Seconds replacement) : replacement_(replacement) {
    for (int i = 0; i < count; ++i) ready_.push(0);
  }
  // For a node that is found dead then: since when another one is there.
  Seconds take(Seconds detected) {
    if (!(replacement_.value > 0)) return detected;
    ready_.push((detected + replacement_).value);
    Seconds const first(ready_.top());
    ready_.pop();
    return max(detected, first);
  }

 private:
  Seconds replacement_;
  std::priority_queue<double, std::vector<double>, std::greater<>> ready_;
};

// From a failure on until training goes on; the next failure is then later than that.
Seconds recover(LongRun const& run, Failures& failures, Spares& spares, RunTimes& times) {
  for (;;) {
    ++times.failures;
    Seconds const start = failures.next();
    Seconds const detected = start + run.detection;
    Seconds const ready = spares.take(detected);
    Seconds const end = ready + run.relaunch + run.load;
    failures.pass();
    Seconds const until = min(min(end, failures.next()), run.horizon);
    times.recovery += until - start;
    times.waiting += max(Seconds(0), min(ready, until) - detected);
    if (end <= failures.next() || run.horizon <= failures.next()) return end;
  }
}

Spread spread_of(std::vector<double> values) {
  Spread s;
  auto const n = static_cast<double>(values.size());
  for (double v : values) s.mean += v / n;
  double squares = 0;
  for (double v : values) squares += (v - s.mean) * (v - s.mean);
  s.error = std::sqrt(squares / (n - 1) / n);
  std::sort(values.begin(), values.end());
  s.p10 = interpolated_quantile(values, 0.1);
  s.p90 = interpolated_quantile(values, 0.9);
  return s;
}

int whole_steps(double steps) { return static_cast<int>(std::clamp(steps, 1.0, double{kMostSteps})); }

double root(double x) { return std::sqrt(std::max(0.0, x)); }

}  // namespace

RunTimes simulate_run(LongRun const& run, int every, std::uint64_t seed, std::uint32_t number) {
  if (every < 1 || !(run.step.value > 0) || !(run.between_failures.value > 0))
    throw std::logic_error("a long run needs steps, an interval and a time between failures");
  Stretch const stretch(run, every);
  Failures failures(run.between_failures, seed, number);
  Spares spares(run.spares, run.replacement);
  RunTimes times;
  Seconds start;
  while (start < run.horizon) {
    bool const fails = failures.next() < run.horizon;
    Seconds const time = min(failures.next(), run.horizon) - start;
    Seconds const work = stretch.work(time);
    Seconds const kept = fails ? stretch.saved(time) : work;
    times.useful += kept;
    times.lost += work - kept;
    times.checkpoints += time - work;
    if (!fails) break;
    start = recover(run, failures, spares, times);
  }
  return times;
}

Goodput simulate_goodput(LongRun const& run, int every, int runs, std::uint64_t seed) {
  if (runs < 2) throw std::logic_error("a spread needs two runs");
  Goodput g;
  std::vector<double> shares;
  std::vector<double> failures;
  for (int i = 0; i < runs; ++i) {
    RunTimes const t = simulate_run(run, every, seed, static_cast<std::uint32_t>(i));
    shares.push_back(t.useful / run.horizon);
    failures.push_back(t.failures);
    g.mean.useful += t.useful / runs;
    g.mean.lost += t.lost / runs;
    g.mean.checkpoints += t.checkpoints / runs;
    g.mean.recovery += t.recovery / runs;
    g.mean.waiting += t.waiting / runs;
    g.mean.failures += t.failures / runs;
  }
  g.share = spread_of(std::move(shares));
  g.failures = spread_of(std::move(failures));
  return g;
}

double expected_goodput(LongRun const& run, int every) {
  Seconds const mean = run.between_failures;
  Seconds const work = run.step * every;
  Seconds const period = work + run.checkpoint + max(Seconds(0), run.write - work);
  Seconds const first = work + run.checkpoint + run.write;
  double const saved = portable_exp(-(first / mean)) / (1 - portable_exp(-(period / mean)));
  return saved * (work / mean) * portable_exp(-(run.restart() / mean));
}

Seconds young_interval(Seconds checkpoint, Seconds between_failures) {
  return Seconds(root(2 * checkpoint.value * between_failures.value));
}

Seconds daly_interval(Seconds checkpoint, Seconds between_failures) {
  if (checkpoint >= 2 * between_failures) return between_failures;
  double const half = checkpoint / (2 * between_failures);
  return young_interval(checkpoint, between_failures) * (1 + root(half) / 3 + half / 9) - checkpoint;
}

int daly_every(LongRun const& run) {
  double const daly = std::round(daly_interval(run.checkpoint, run.between_failures) / run.step);
  return whole_steps(std::max(daly, std::ceil(run.write / run.step)));
}

int best_every(LongRun const& run, int runs, std::uint64_t seed) {
  constexpr int kSteps = 6;  // to either side: 2^(6/4) = 2.8
  constexpr double kQuarter = 0.25 * std::numbers::ln2;
  int const centre = daly_every(run);
  int best = centre;
  int last = 0;
  double most = -1;
  for (int i = -kSteps; i <= kSteps; ++i) {
    int const every = whole_steps(std::round(centre * portable_exp(kQuarter * i)));
    if (every == last) continue;
    last = every;
    double const share = simulate_goodput(run, every, runs, seed).share.mean;
    if (share > most) {
      most = share;
      best = every;
    }
  }
  return best;
}

}  // namespace rollcast
