// Fleets of rollout engines, see tests/bench/README.md: 64 engines that are fed continuously, and 8,192
// engines with eight responses each. One iteration is a whole simulation: construction, submission, run to
// the end.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <vector>

#include "models/rollout_fleet.hpp"
#include "tests/bench/fork_timer.hpp"
#include "tests/models/rollout_workload.hpp"

namespace rollcast {
namespace {

constexpr int kGroup = 16;
constexpr int kGroupPrompt = 1024;

// Log-normal, cut at 28 Ki: mean 7,300 tokens.
std::vector<Request> responses(std::int64_t n, int group) {
  Lengths const lengths{LogNormalLength{8.6, 0.9, 28'672}};
  std::vector<Request> result;
  for (std::int64_t i = 0; i < n; ++i) {
    RandomKey const key{1, Purpose::response_length, 0, static_cast<std::uint64_t>(i)};
    result.push_back({i, i / group, kGroupPrompt, sample(lengths, key, 0)});
  }
  return result;
}

EngineOptions options() {
  EngineOptions o;
  o.max_num_seqs = 256;
  return o;
}

void report(benchmark::State& state, RolloutFleet const& fleet) {
  double events = 0;
  double preemptions = 0;
  double tokens = 0;
  for (int e = 0; e < fleet.engines(); ++e) {
    EngineCounters const& c = fleet.engine(e).counters();
    events += static_cast<double>(c.events);
    preemptions += static_cast<double>(c.preemptions);
    tokens += static_cast<double>(c.generated_tokens);
  }
  state.counters["events"] = events;
  state.counters["preemptions"] = preemptions;
  state.counters["tokens"] = tokens;
  state.counters["simulated_s"] = fleet.now().value;
}

// 8,192 responses are under way: where 16 have finished the next group starts, 20 x 512 groups in all.
void run_continuously(benchmark::State& state, std::int64_t kv_blocks) {
  constexpr std::int64_t kUnderWay = 512 * kGroup;
  std::vector<Request> const all = responses(20 * kUnderWay, kGroup);
  StepPrices const prices = workload1024::table_prices();
  for (auto _ : state) {
    RolloutFleet fleet({64, EngineBalance::by_group}, options(), kv_blocks, prices);
    std::vector<FleetCompletion> out;
    auto next = all.begin();
    for (;;) {
      for (; next != all.end() && fleet.in_flight() + kGroup <= kUnderWay; next += kGroup)
        fleet.submit({next, next + kGroup}, fleet.now());
      out.clear();
      if (!fleet.advance_to_completion(seconds(1e9), out)) break;
    }
    state.PauseTiming();
    report(state, fleet);
    state.ResumeTiming();
  }
}

// Qwen2.5-7B: 28 layers x 4 KV heads x 128 x 2 x 2 B = 57,344 B per token and 15.2 GB of weights leave 1.01
// million tokens of the memory that kKvBlocks is made of: what runs fits in it.
void BM_Fleet64Continuous(benchmark::State& state) { run_continuously(state, 63'200); }
BENCHMARK(BM_Fleet64Continuous)->Unit(benchmark::kMillisecond);

// Llama-3.1-8B: what runs does not fit, each response is preempted several times.
void BM_Fleet64ContinuousPreempting(benchmark::State& state) {
  run_continuously(state, workload1024::kKvBlocks);
}
BENCHMARK(BM_Fleet64ContinuousPreempting)->Unit(benchmark::kMillisecond);

void BM_Fleet8192OneStep(benchmark::State& state) {
  std::vector<Request> const all = responses(8192 * 8, 8);
  StepPrices const prices = workload1024::table_prices();
  time_in_children(state, [&] {
    RolloutFleet fleet({8192, EngineBalance::contiguous}, options(), workload1024::kKvBlocks, prices);
    std::vector<FleetCompletion> out;
    fleet.submit(all, seconds(0));
    fleet.run_to_end(out);
    benchmark::DoNotOptimize(out.data());
  });
}
BENCHMARK(BM_Fleet8192OneStep)->UseManualTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace rollcast
