// Goal: one step of the two-node runs of R01 as a point of a sweep in 15 ms of CPU and 1,000 activities of
// SimGrid: 100 points a second on two cores. A point is what a helper of the sweep does for it: reading the
// scenario, the fork, the simulation, the way back. The CPU time is that of the helper and its children over
// kPoints points; the profile, which a helper makes once, is made before.
#include <benchmark/benchmark.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include "calibrate/profiles.hpp"
#include "reports/forecast.hpp"
#include "scenarios/scenario.hpp"
#include "sim/engine_activities.hpp"
#include "sim/simulate.hpp"

namespace rollcast {
namespace {

constexpr int kPoints = 20;

std::string path_of(std::string const& name) {
  return ROLLCAST_SOURCE_DIR "/scenarios/published/R01-nemo-rl-8b-" + name + ".yaml";
}

ScenarioSource source_of(std::string const& name) {
  std::ifstream in(path_of(name), std::ios::binary);
  return {path_of(name), {std::istreambuf_iterator<char>(in), {}}, {}};
}

double cpu_of(int who) {
  rusage use{};
  getrusage(who, &use);
  auto const seconds = [](timeval const& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(use.ru_utime) + seconds(use.ru_stime);
}

// All points in one helper, whose CPU time is known when it has ended: less that of a helper with one point
// alone.
double cpu_of_points(ScenarioSource const& source, int points) {
  double const before = cpu_of(RUSAGE_CHILDREN);
  {
    ForkPool pool = forecast_pool(1, {source});
    std::vector<ForecastTask> tasks;
    for (int i = 0; i < points; ++i) tasks.push_back({0, {}, static_cast<std::uint64_t>(i) + 1, 1});
    for (Headline const& h : forecast_all(pool, tasks)) {
      if (h.outcome != Outcome::completed) return -1;
    }
  }
  return cpu_of(RUSAGE_CHILDREN) - before;
}

EngineActivities activities_of(std::string const& name) {
  ApartResult const r = run_apart([&] {
    auto const read = read_scenario_file(path_of(name), {});
    simulate(*read.scenario, profiles_for(read.scenario->job), {.steps = 1, .seed = 1});
    EngineActivities const a = engine_activities();
    return std::to_string(a.flows) + " " + std::to_string(a.timers);
  });
  EngineActivities a{-1, -1};
  std::istringstream(r.text) >> a.flows >> a.timers;
  return a;
}

void SweepPoint(benchmark::State& state, std::string const& name) {
  ScenarioSource const source = source_of(name);
  for (auto _ : state) {
    double const one = cpu_of_points(source, 1);
    double const all = cpu_of_points(source, kPoints + 1);
    if (one < 0 || all < 0) {
      state.SkipWithError("a forecast failed");
      break;
    }
    state.SetIterationTime((all - one) / kPoints);
  }
  EngineActivities const a = activities_of(name);
  state.counters["flows"] = static_cast<double>(a.flows);
  state.counters["timers"] = static_cast<double>(a.timers);
}
BENCHMARK_CAPTURE(SweepPoint, two_nodes, "two-nodes-v0.5")
    ->UseManualTime()
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(SweepPoint, one_step_off_v04, "one-step-off-v0.4")
    ->UseManualTime()
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(SweepPoint, one_step_off, "one-step-off-v0.5")
    ->UseManualTime()
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace rollcast
