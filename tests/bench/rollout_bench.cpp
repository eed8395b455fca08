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

void run_engine(benchmark::State& state, StepPrices const& prices, int length_factor,
                std::int64_t kv_blocks) {
  std::vector<Request> const batch = requests(length_factor);
  EngineCounters counters;
  for (auto _ : state) {
    RolloutEngine engine(options(), kv_blocks, prices);
    engine.submit(batch, seconds(0));
    std::vector<Completion> out;
    out.reserve(batch.size());
    engine.run_to_end(out);
    benchmark::DoNotOptimize(out.data());
    counters = engine.counters();
  }
  report(state, counters);
}

void BM_Rollout1024Linear(benchmark::State& state) { run_engine(state, linear_prices(), 1, kKvBlocks); }
BENCHMARK(BM_Rollout1024Linear)->Unit(benchmark::kMicrosecond);

void BM_Rollout1024Table(benchmark::State& state) { run_engine(state, table_prices(), 1, kKvBlocks); }
BENCHMARK(BM_Rollout1024Table)->Unit(benchmark::kMicrosecond);

// Responses and pool eight times as large.
void BM_Rollout1024TableLong(benchmark::State& state) { run_engine(state, table_prices(), 8, 8 * kKvBlocks); }
BENCHMARK(BM_Rollout1024TableLong)->Unit(benchmark::kMicrosecond);

// A pool in which all sequences fit: the same events whatever the lengths, one finish after the other.
constexpr std::int64_t kRoomyBlocks = 10'000'000;

void BM_Rollout1024TableRoomy(benchmark::State& state) { run_engine(state, table_prices(), 1, kRoomyBlocks); }
BENCHMARK(BM_Rollout1024TableRoomy)->Unit(benchmark::kMicrosecond);

void BM_Rollout1024TableRoomyLong(benchmark::State& state) {
  run_engine(state, table_prices(), 8, kRoomyBlocks);
}
BENCHMARK(BM_Rollout1024TableRoomyLong)->Unit(benchmark::kMicrosecond);

void BM_Rollout1024TokenByToken(benchmark::State& state) {
  std::vector<Request> const batch = requests(1);
  StepPrices const prices = table_prices();
  EngineCounters counters;
  for (auto _ : state) {
    ReferenceRollout engine(options(), kKvBlocks, prices);
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
