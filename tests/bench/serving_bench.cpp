// Goal: 100,000 requests over 1,000 adapters, from the job to the event log, in 1 s. Llama-3.1-8B on a node
// of eight H100s, eight engines, 100 requests a second each, 512 + 128 tokens in the mean, adapters by Zipf's
// law.
#include <benchmark/benchmark.h>

#include "calibrate/profiles.hpp"
#include "sim/simulate.hpp"
#include "tests/bench/fork_timer.hpp"
#include "tests/models/serving_jobs.hpp"

namespace rollcast {
namespace {

Scenario many_tenants(int engines, double rate) {
  Scenario s;
  s.name = "many tenants";
  s.job = test::serving_job(catalog_model("llama-3.1-8b"), engines);
  Job& job = s.job;
  job.rollout.max_num_seqs = 256;
  job.workload.prompt_tokens = {LogNormalLength{5.74, 1, 4096}, 0, 4096};
  job.workload.response_tokens = {LogNormalLength{4.35, 1, 1024}, 0, 1024};
  job.serve->requests = 100'000;
  job.serve->arrivals.rate = rate * engines;
  job.serve->adapters.count = 1000;
  job.serve->adapters.popularity = Popularity::zipf;
  return s;
}

void time_serving(benchmark::State& state, Scenario const& s) {
  time_in_children(state, [&] {
    Profile const profile = profile_for(s.job.cluster.node.gpu);
    EventLog const log = simulate(s, profile, {.steps = 1, .seed = 1});
    if (log.outcome != Outcome::completed) throw std::logic_error(log.outcome_reason);
    benchmark::DoNotOptimize(&log);
  });
}

// vLLM: 64 slots, a step waits for its adapters; a load every few requests.
void ServeFixedPool(benchmark::State& state) {
  Scenario s = many_tenants(static_cast<int>(state.range(0)), static_cast<double>(state.range(1)));
  s.job.serve->adapters.slots = 64;
  time_serving(state, s);
}
BENCHMARK(ServeFixedPool)
    ->Args({8, 20})
    ->Args({8, 5})
    ->Args({1, 20})
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

// S-LoRA: adapters in KV pages, loads beside the steps, ranks of their own.
void ServeUnifiedPool(benchmark::State& state) {
  Scenario s = many_tenants(static_cast<int>(state.range(0)), static_cast<double>(state.range(1)));
  ServedAdapters& a = s.job.serve->adapters;
  a.pool = AdapterPool::unified;
  a.loading = AdapterLoading::overlapped;
  a.prefetch = 8;
  a.padded_ranks = false;
  a.variants = {{8, {"q", "v"}}, {64, {"q", "k", "v", "o"}}};
  time_serving(state, s);
}
BENCHMARK(ServeUnifiedPool)
    ->Args({8, 20})
    ->Args({8, 5})
    ->Args({1, 20})
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

// The host holds 100 adapters, the others come from the drives.
void ServeFromStorage(benchmark::State& state) {
  Scenario s = many_tenants(8, 20);
  ServedAdapters& a = s.job.serve->adapters;
  a.slots = 32;
  a.loading = AdapterLoading::overlapped;
  a.host_adapters = 100;
  time_serving(state, s);
}
BENCHMARK(ServeFromStorage)->UseManualTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace rollcast
