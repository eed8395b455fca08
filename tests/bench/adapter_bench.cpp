// 100,000 requests over 1,000 adapters on one engine, see tests/bench/README.md; each load takes 3 ms. One
// iteration is the whole simulation: construction, submission, run to the end.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "models/random.hpp"
#include "tests/models/load_server.hpp"
#include "tests/models/rollout_workload.hpp"

namespace rollcast {
namespace {

constexpr int kServed = 100'000;
constexpr int kAdapters = 1000;

struct Serving {
  AdapterExecution execution = AdapterExecution::batched;
  AdapterPool pool = AdapterPool::fixed;
  AdapterLoading loading = AdapterLoading::blocking;
  ServeOrder order = ServeOrder::first_come;
  double rate = 60;  // requests a second
};

// Rank 16 on q and v of 32 layers of width 4,096 at 3.35 TB/s: a token moves 4 B x 16 + 2 B x 4,096 or twice
// that, an adapter 2 B x 16 x 4,096.
std::shared_ptr<AdapterPlan const> plan_of(Serving const& s) {
  AdapterPlan p;
  p.options.count = kAdapters;
  p.options.execution = s.execution;
  p.options.pool = s.pool;
  p.options.loading = s.loading;
  p.options.prefetch = 8;
  p.order = s.order;
  p.slots = 64;
  p.merge = {seconds(0.03)};
  p.pages = {8};
  for (double const reads : {1.0, 2.0, 1.0, 2.0}) {
    double const token = (4 * 16 + reads * 2 * 4096) / workload1024::kBandwidth;
    p.kernels.kernels.push_back({32, {}, {{token, 2.0 * 16 * 4096 / workload1024::kBandwidth, 0}}});
  }
  return std::make_shared<AdapterPlan const>(p);
}

// Poisson arrivals, Zipf with exponent 1, prompts of 128 tokens, responses log-normal of median 90.
std::vector<std::pair<Seconds, Request>> requests_of(double rate) {
  std::vector<double> weights;
  double sum = 0;
  for (int a = 0; a < kAdapters; ++a) weights.push_back(sum += 1.0 / (a + 1));
  Lengths const lengths{LogNormalLength{4.5, 0.7, 1024}};
  std::vector<std::pair<Seconds, Request>> result;
  double time = 0;
  for (int i = 0; i < kServed; ++i) {
    auto const n = static_cast<std::uint64_t>(i);
    time -= std::log(1 - uniform({1, Purpose::jitter, 0, n})) / rate;
    double const pick = sum * uniform({1, Purpose::jitter, 1, n});
    auto const adapter = std::upper_bound(weights.begin(), weights.end(), pick) - weights.begin();
    Request r{i, -1, 128, sample(lengths, {1, Purpose::response_length, 0, n}, 0)};
    r.adapter = static_cast<int>(adapter);
    result.emplace_back(seconds(time), r);
  }
  return result;
}

void serve(benchmark::State& state, Serving const& s) {
  auto const plan = plan_of(s);
  auto const requests = requests_of(s.rate);
  StepPrices const prices = workload1024::table_prices();
  EngineOptions options;
  options.max_num_seqs = 256;
  for (auto _ : state) {
    RolloutFleet fleet({}, options, workload1024::kKvBlocks, prices, seconds(0.01), plan);
    for (auto const& [at, r] : requests) fleet.submit(r, at);
    LoadServer server(fleet, [](int, int, int) { return 3e-3; });
    server.run();
    state.PauseTiming();
    AdapterUse const& use = fleet.engine(0).adapter_use();
    EngineCounters const& c = fleet.engine(0).counters();
    state.counters["requests"] = static_cast<double>(server.completions.size());
    state.counters["events"] = static_cast<double>(c.events);
    state.counters["loads"] = static_cast<double>(use.loads);
    state.counters["distinct"] = use.distinct_steps / static_cast<double>(c.steps);
    state.counters["simulated_s"] = fleet.now().value;
    state.ResumeTiming();
  }
}

void BM_Serve100kFixed(benchmark::State& state) { serve(state, {}); }
BENCHMARK(BM_Serve100kFixed)->Unit(benchmark::kMillisecond);

void BM_Serve100kFixedBacklog(benchmark::State& state) {
  Serving s;
  s.rate = 1000;
  serve(state, s);
}
BENCHMARK(BM_Serve100kFixedBacklog)->Unit(benchmark::kMillisecond);

void BM_Serve100kUnifiedOverlapped(benchmark::State& state) {
  Serving s;
  s.pool = AdapterPool::unified;
  s.loading = AdapterLoading::overlapped;
  serve(state, s);
}
BENCHMARK(BM_Serve100kUnifiedOverlapped)->Unit(benchmark::kMillisecond);

void BM_Serve100kUnifiedFairBacklog(benchmark::State& state) {
  Serving s;
  s.pool = AdapterPool::unified;
  s.loading = AdapterLoading::overlapped;
  s.order = ServeOrder::fair;
  s.rate = 1000;
  serve(state, s);
}
BENCHMARK(BM_Serve100kUnifiedFairBacklog)->Unit(benchmark::kMillisecond);

void BM_Serve100kGroupedBacklog(benchmark::State& state) {
  Serving s;
  s.order = ServeOrder::grouped;
  s.rate = 1000;
  serve(state, s);
}
BENCHMARK(BM_Serve100kGroupedBacklog)->Unit(benchmark::kMillisecond);

void BM_Serve100kSplit(benchmark::State& state) {
  Serving s;
  s.execution = AdapterExecution::split;
  serve(state, s);
}
BENCHMARK(BM_Serve100kSplit)->Unit(benchmark::kMillisecond);

void BM_Serve100kMergedBacklog(benchmark::State& state) {
  Serving s;
  s.execution = AdapterExecution::merged;
  s.rate = 1000;
  serve(state, s);
}
BENCHMARK(BM_Serve100kMergedBacklog)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace rollcast
