// A rollout of 1,024 requests on one H100, see tests/bench/README.md: the engine with linear and with table
// prices, with responses eight times as long, and a plain token-by-token loop beside it. One iteration is a
// whole simulation: construction, submission, run to the end.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "models/rollout_engine.hpp"
#include "tests/models/reference_rollout.hpp"
#include "tests/models/rollout_workload.hpp"

namespace rollcast {
namespace {

using namespace workload1024;

void report(benchmark::State& state, EngineCounters const& c) {
  state.counters["events"] = static_cast<double>(c.events);
  state.counters["preemptions"] = static_cast<double>(c.preemptions);
  state.counters["steps"] = static_cast<double>(c.steps);
  state.counters["tokens"] = static_cast<double>(c.generated_tokens);
  state.counters["price_reads_per_event"] =
      static_cast<double>(c.price_evaluations) / static_cast<double>(std::max<std::int64_t>(1, c.events));
  state.counters["simulated_s"] = c.busy.value;
}

void run_engine(benchmark::State& state, StepPrices const& prices, int scale) {
  std::vector<Request> const batch = requests(scale);
  EngineCounters counters;
  for (auto _ : state) {
    RolloutEngine engine(options(scale), kv_blocks(scale), prices);
    engine.submit(batch, seconds(0));
    std::vector<Completion> out;
    out.reserve(batch.size());
    engine.run_to_end(out);
    benchmark::DoNotOptimize(out.data());
    counters = engine.counters();
  }
  report(state, counters);
}

void BM_Rollout1024Linear(benchmark::State& state) { run_engine(state, linear_prices(), 1); }
BENCHMARK(BM_Rollout1024Linear)->Unit(benchmark::kMicrosecond);

void BM_Rollout1024Table(benchmark::State& state) { run_engine(state, table_prices(), 1); }
BENCHMARK(BM_Rollout1024Table)->Unit(benchmark::kMicrosecond);

void BM_Rollout1024TableLong(benchmark::State& state) { run_engine(state, table_prices(), 8); }
BENCHMARK(BM_Rollout1024TableLong)->Unit(benchmark::kMicrosecond);

void BM_Rollout1024TokenByToken(benchmark::State& state) {
  std::vector<Request> const batch = requests();
  StepPrices const prices = linear_prices();
  EngineCounters counters;
  for (auto _ : state) {
    ReferenceRollout engine(options(), kv_blocks(), prices);
    for (Request const& r : batch) engine.submit(r, seconds(0));
    std::vector<Completion> out;
    out.reserve(batch.size());
    engine.run_to_end(out);
    benchmark::DoNotOptimize(out.data());
    counters = engine.counters();
  }
  report(state, counters);
}
BENCHMARK(BM_Rollout1024TokenByToken)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace rollcast
