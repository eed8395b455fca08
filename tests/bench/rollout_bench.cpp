// A rollout of 1,024 requests on one H100, see tests/bench/README.md: the engine with linear and with table
// prices, with responses eight times as long, and a plain token-by-token loop beside it. One iteration is a
// whole simulation: construction, submission, run to the end.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "models/lengths.hpp"
#include "models/rollout_engine.hpp"
#include "tests/models/reference_rollout.hpp"

namespace rollcast {
namespace {

constexpr int kRequests = 1024;
constexpr int kPrompt = 512;

// Llama-3.1-8B in bf16 on one H100 SXM: 8.03e9 parameters (16.06 GB), KV 2 x 32 layers x 8 heads x 128 x 2 B
// = 131,072 B per token; data sheet: 3.35 TB/s, 989 TFLOP/s in bf16, of which the matrix products reach 60 %.
constexpr double kWeightBytes = 16.06e9;
constexpr double kParameters = 8.03e9;
constexpr double kKvBytesPerToken = 131'072;
constexpr double kBandwidth = 3.35e12;
constexpr double kFlops = 0.6 * 989e12;

// Utilization 0.9 of the 79.1 GiB that a process sees, less the weights and 3 GiB of activations and graphs,
// in pages of 16 tokens: 404,000 tokens, where the finished sequences together hold 2.4 million.
constexpr std::int64_t kKvBlocks = static_cast<std::int64_t>(
    (0.9 * 79.1 * 1073741824.0 - kWeightBytes - 3 * 1073741824.0) / (kKvBytesPerToken * 16));

EngineOptions options() {
  EngineOptions o;
  o.block_size = 16;
  o.max_num_seqs = kRequests;
  o.max_num_batched_tokens = 8192;
  return o;
}

std::vector<Request> requests(int length_factor) {
  Lengths const lengths{LogNormalLength{7.2, 0.8, 0}};
  std::vector<Request> result;
  for (int i = 0; i < kRequests; ++i) {
    RandomKey const key{1, Purpose::response_length, 0, static_cast<std::uint64_t>(i)};
    result.push_back({i, -1, kPrompt, sample(lengths, key, 0) * length_factor});
  }
  return result;
}

// Step = 1.5 ms + the weights once, or 2 FLOPs per parameter and token, + the KV of the batch at full
// bandwidth.
StepPrices linear_prices() {
  StepPrices p;
  p.fixed = seconds(1.5e-3 + kWeightBytes / kBandwidth);
  p.per_sequence = seconds(2e-6);
  p.dense = {{0, 8192}, {0, 8192 * 2 * kParameters / kFlops}};
  p.batch_knots = {1024};
  p.context_knots = {0, 131'072};
  p.decode_attention = {{0, 1024 * 131'072 * kKvBytesPerToken / kBandwidth}};
  p.prefill_per_pair = 4.0 * 32 * 4096 / kFlops;
  return p;
}

// The same physics on 12 x 20 knots, with an attention kernel that comes slowly to its bandwidth and a dense
// part that is the larger of weights and FLOPs: nothing is linear over more than one cell.
StepPrices table_prices() {
  StepPrices p = linear_prices();
  p.fixed = seconds(1.5e-3);
  p.dense = {};
  for (double tokens = 1; tokens <= 8192; tokens *= 2) {
    p.dense.x.push_back(tokens);
    p.dense.y.push_back(std::max(kWeightBytes / kBandwidth, 2 * kParameters * tokens / kFlops) +
                        1e-7 * tokens);
  }
  p.batch_knots = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 768, 1024};
  p.context_knots = {};
  for (double c = 16; c <= 131'072; c *= 1.6) p.context_knots.push_back(c);
  p.decode_attention.clear();
  for (double b : p.batch_knots) {
    p.decode_attention.emplace_back();
    for (double c : p.context_knots) {
      double const bytes = b * c * kKvBytesPerToken;
      p.decode_attention.back().push_back(1e-4 + bytes / kBandwidth * (1.1 + 0.5 / (1.0 + b * c / 1e5)));
    }
  }
  return p;
}

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
