#include "calibrate/bench/device/timer.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/bench/rotation.hpp"

namespace rollcast {
namespace {

constexpr Seconds kSample = ms(2);
constexpr std::size_t kAhead = 4;  // samples enqueued ahead of the one that is read

struct Pair {
  Event start;
  Event stop;
};

}  // namespace

Timer::Timer(Device const& device, RunOptions const& options, SampleWriter& writer)
    : device_(device), options_(options), writer_(writer) {}

void Timer::measure(Measured row, int sets, Enqueue enqueue, Launch const& launch) {
  int const first = std::max(options_.warmup, sets);
  for (int i = 0; i < first; ++i) launch(stream(), i % sets);
  Pair const estimate;
  estimate.start.record(stream());
  for (int i = 0; i < sets; ++i) launch(stream(), i);
  estimate.stop.record(stream());
  synchronize();
  Seconds const once = time_between(estimate.start, estimate.stop) / sets;

  int const launches = launches_per_sample(once, kSample, sets);
  auto const round = [&] {
    for (int i = 0; i < launches; ++i) launch(stream(), i % sets);
  };
  std::optional<Graph> graph;
  if (enqueue == Enqueue::graph) graph.emplace(stream(), round);
  std::function<void()> const sample = [&] {
    if (graph) {
      graph->launch(stream());
    } else {
      round();
    }
  };
  sample();
  synchronize();

  row.time = spread_of(options_.sustained ? sustained(sample, launches) : burst(sample, launches));
  if (options_.sustained) row.variant += row.variant.empty() ? "sustained" : "_sustained";
  writer_.row(row);
}

std::vector<double> Timer::burst(std::function<void()> const& sample, int launches) {
  std::vector<Pair> pairs(static_cast<std::size_t>(options_.repeats));
  for (Pair const& p : pairs) {
    p.start.record(stream());
    sample();
    p.stop.record(stream());
  }
  note_clocks();
  synchronize();
  std::vector<double> times;
  for (Pair const& p : pairs) times.push_back(time_between(p.start, p.stop).value / launches);
  return times;
}

std::vector<double> Timer::sustained(std::function<void()> const& sample, int launches) {
  using Clock = std::chrono::steady_clock;
  std::vector<Pair> ring(kAhead);
  std::vector<double> settled;
  auto const begin = Clock::now();
  for (std::size_t i = 0;; ++i) {
    double const elapsed = std::chrono::duration<double>(Clock::now() - begin).count();
    if (elapsed >= options_.duration.value && !settled.empty()) break;
    Pair const& p = ring[i % kAhead];
    if (i >= kAhead) {
      p.stop.synchronize();
      if (elapsed >= options_.duration.value / 2) {
        settled.push_back(time_between(p.start, p.stop).value / launches);
      }
    }
    p.start.record(stream());
    sample();
    p.stop.record(stream());
  }
  note_clocks();
  synchronize();
  return settled;
}

// While work is still enqueued: a clock falls when the GPU waits.
void Timer::note_clocks() {
  DriverState const state = driver_state(device_);
  if (state.sm_mhz == 0) return;
  writer_.note("SM " + std::to_string(state.sm_mhz) + " MHz, memory " + std::to_string(state.memory_mhz) +
               " MHz");
}

}  // namespace rollcast
