// A trace of a million events through the caching allocator, see tests/bench/README.md. One iteration is a
// whole replay on a new allocator.
#include <benchmark/benchmark.h>

#include <random>
#include <string_view>
#include <vector>

#include "models/allocation_trace.hpp"

namespace rollcast {
namespace {

constexpr std::size_t kEvents = 1'000'000;
constexpr std::int64_t kDevice = 81920 * kMiB;

struct TraceWriter {
  AllocationTrace trace;
  std::int64_t next_id = 0;

  std::int64_t allocate(std::int64_t bytes, std::int64_t stream = 0) {
    trace.events.push_back({AllocationKind::allocate, next_id, bytes, stream, 0, -1});
    return next_id++;
  }
  void free(std::int64_t id) { trace.events.push_back({AllocationKind::free, id, 0, 0, 0, -1}); }
};

// Steps of forward and backward passes over 48 layers on two streams: of each layer 12 activations stay until
// its backward pass and 20 temporaries come and go in each pass. Sizes follow the step's tokens, which
// differ.
AllocationTrace training_trace() {
  std::mt19937_64 random(1);
  TraceWriter w;
  for (int layer = 0; layer < 48; ++layer) w.allocate(400 * kMiB);
  auto const temporaries = [&](std::int64_t tokens) {
    for (int i = 0; i < 10; ++i) {
      std::int64_t const large = w.allocate(tokens * 4096);
      std::int64_t const small = w.allocate(tokens * (1 + i), i % 2);
      w.free(large);
      w.free(small);
    }
  };
  while (w.trace.events.size() < kEvents) {
    auto const tokens = static_cast<std::int64_t>(2048 + random() % 6144);
    std::vector<std::vector<std::int64_t>> kept(48);
    for (auto& layer : kept) {
      for (int i = 0; i < 12; ++i) layer.push_back(w.allocate(tokens * (i < 6 ? 64 : 4096) + 8 * i));
      temporaries(tokens);
    }
    for (auto layer = kept.rbegin(); layer != kept.rend(); ++layer) {
      temporaries(tokens);
      for (std::int64_t const id : *layer) w.free(id);
    }
  }
  w.trace.events.resize(kEvents);
  return w.trace;
}

// Sizes and lifetimes without any order: 20,000 blocks in use.
AllocationTrace random_trace() {
  std::mt19937_64 random(2);
  TraceWriter w;
  std::vector<std::int64_t> live;
  while (w.trace.events.size() < kEvents) {
    if (live.size() < 20000 || random() % 2 == 0) {
      std::uint64_t const most = std::uint64_t{1024} << random() % 14;
      live.push_back(w.allocate(static_cast<std::int64_t>(1 + random() % most)));
    } else {
      std::swap(live[random() % live.size()], live.back());
      w.free(live.back());
      live.pop_back();
    }
  }
  return w.trace;
}

void run(benchmark::State& state, AllocationTrace const& trace, std::string_view options) {
  AllocatorConfig const config = parse_allocator_config(options).config.value();
  Replay last;
  for (auto _ : state) {
    CachingAllocator allocator(config, kDevice);
    last = replay(trace, allocator);
    benchmark::DoNotOptimize(last.timeline.data());
  }
  state.counters["events"] = static_cast<double>(last.timeline.size());
  state.counters["segments"] = static_cast<double>(last.stats.calls.num_device_alloc());
  state.counters["retries"] = static_cast<double>(last.stats.num_alloc_retries);
}

void BM_AllocatorTraining(benchmark::State& state) { run(state, training_trace(), ""); }
BENCHMARK(BM_AllocatorTraining)->Unit(benchmark::kMillisecond);

void BM_AllocatorTrainingExpandable(benchmark::State& state) {
  run(state, training_trace(), "expandable_segments:True");
}
BENCHMARK(BM_AllocatorTrainingExpandable)->Unit(benchmark::kMillisecond);

void BM_AllocatorRandom(benchmark::State& state) { run(state, random_trace(), ""); }
BENCHMARK(BM_AllocatorRandom)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace rollcast
