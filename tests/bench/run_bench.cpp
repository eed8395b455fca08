// Goal: a whole 5-step run of the two-node example, from the parsed scenario to the analysis, in 60 ms.
#include <benchmark/benchmark.h>

#include "calibrate/profiles.hpp"
#include "reports/analysis.hpp"
#include "scenarios/scenario.hpp"
#include "sim/simulate.hpp"
#include "tests/bench/fork_timer.hpp"

namespace rollcast {
namespace {

void RunR01FiveSteps(benchmark::State& state) {
  auto const read = read_scenario_file(ROLLCAST_SOURCE_DIR "/scenarios/examples/grpo-8b-colocated.yaml", {});
  if (!read.scenario) {
    state.SkipWithError("the example does not read");
    return;
  }
  time_in_children(state, [&] {
    Profile const profile = profile_for(read.scenario->job.cluster.node.gpu);
    EventLog const log = simulate(*read.scenario, profile, {.steps = 5, .seed = 1});
    Analysis const analysis = analyse(log);
    benchmark::DoNotOptimize(&analysis);
  });
}
BENCHMARK(RunR01FiveSteps)->UseManualTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace rollcast
