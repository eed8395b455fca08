// Goal: the figures of 100,000 requests over 1,000 adapters in less than 30 ms on a core.
#include <benchmark/benchmark.h>

#include <cstdint>

#include "reports/serving_figures.hpp"

namespace {

using namespace rollcast;

ServingLog log_of(int requests, int adapters) {
  ServingLog log;
  log.adapters = adapters;
  log.objective.ttft = seconds(0.5);
  log.engines.resize(8);
  std::uint64_t state = 1;
  auto const draw = [&] {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<double>(state >> 33) / static_cast<double>(1u << 31);
  };
  for (int i = 0; i < requests; ++i) {
    Seconds const arrival = ms(i), token = arrival + seconds(draw());
    log.requests.push_back({arrival, token, token + seconds(10 * draw()), 200, 100,
                            static_cast<int>(draw() * draw() * adapters), i % 8});
  }
  return log;
}

void BM_ServingFigures100k(benchmark::State& state) {
  ServingLog const log = log_of(100'000, 1000);
  for (auto _ : state) benchmark::DoNotOptimize(serving_figures(log, seconds(110), 8));
}
BENCHMARK(BM_ServingFigures100k)->Unit(benchmark::kMillisecond);

}  // namespace
