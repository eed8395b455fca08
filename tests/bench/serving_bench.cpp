// Goal: the requests of a serving run, and a trace of them, are there in a small part of the second that a
// run of 100,000 may take.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <sstream>
#include <string>

#include "models/arrivals.hpp"
#include "scenarios/text/trace_file.hpp"

namespace {

using namespace rollcast;

void ServeRequests100k(benchmark::State& state) {
  ServeOptions serve;
  serve.requests = 100'000;
  serve.arrivals.kind = static_cast<ArrivalKind>(state.range(0));
  serve.arrivals.variation = 3;
  serve.adapters.count = 1000;
  serve.adapters.popularity = Popularity::zipf;
  Workload workload;
  workload.prompt_tokens.shape = LogNormalLength{5.3, 0.7, 1024};
  workload.response_tokens.shape = LogNormalLength{5.2, 0.7, 1024};
  for (auto _ : state) benchmark::DoNotOptimize(serve_requests(serve, workload, 1).data());
  state.SetLabel(std::string(name_of(serve.arrivals.kind)));
}
BENCHMARK(ServeRequests100k)
    ->Arg(static_cast<int>(ArrivalKind::poisson))
    ->Arg(static_cast<int>(ArrivalKind::bursts))
    ->Unit(benchmark::kMillisecond);

void ReadTrace100k(benchmark::State& state) {
  std::string text = "arrival,prompt,output,adapter\n";
  for (int i = 0; i < 100'000; ++i)
    text += fmt::format("{:.3f},{},{},{}\n", 0.1 * i, 500 + i % 100, 200, i % 1000);
  for (auto _ : state) {
    std::istringstream in(text);
    benchmark::DoNotOptimize(parse_trace(in, "bench.csv").rows.data());
  }
}
BENCHMARK(ReadTrace100k)->Unit(benchmark::kMillisecond);

}  // namespace
