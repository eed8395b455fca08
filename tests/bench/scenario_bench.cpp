// Goal: parse and check of the R01 example in less than 1 ms.
#include <benchmark/benchmark.h>

#include <fstream>
#include <sstream>

#include "scenarios/scenario.hpp"
#include "scenarios/text/document.hpp"

namespace {

std::string const kExample = ROLLCAST_SOURCE_DIR "/scenarios/examples/grpo-8b-colocated.yaml";

void ParseAndCheckR01(benchmark::State& state) {
  for (auto _ : state) {
    rollcast::ScenarioResult const r = rollcast::read_scenario_file(kExample, {});
    if (!r.scenario) state.SkipWithError("the example does not read");
    benchmark::DoNotOptimize(&r);
  }
}
BENCHMARK(ParseAndCheckR01)->Unit(benchmark::kMillisecond);

void ParseTextOfR01(benchmark::State& state) {
  std::ifstream in(kExample);
  std::ostringstream text;
  text << in.rdbuf();
  for (auto _ : state) {
    rollcast::Document const d = rollcast::parse_document(text.str(), "r01.yaml");
    benchmark::DoNotOptimize(&d);
  }
}
BENCHMARK(ParseTextOfR01)->Unit(benchmark::kMillisecond);

}  // namespace
