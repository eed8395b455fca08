// Whole runs with engines and trainer on pools of their own, through simulate(). Goals: 20 steps on 64 + 64
// GPUs in 0.5 s; one step on 8,192 + 8,192 GPUs in 3 s and 1 GiB.
#include <benchmark/benchmark.h>

#include <stdexcept>

#include "sim/simulate.hpp"
#include "tests/bench/fork_timer.hpp"
#include "tests/models/price_fixtures.hpp"

namespace rollcast {
namespace {

// Qwen2.5-7B with engines of one GPU; responses log-normal(8.6, 0.9) cut at 28 Ki: mean 7,300 tokens.
Scenario on_two_pools(int nodes, int tp) {
  Scenario s;
  s.name = "pools";
  Job& job = s.job;
  job = llama_job(nodes);
  job.model = catalog_model("qwen2.5-7b");
  job.pools = {{"train", h100_cluster(nodes), false}, {"rollout", h100_cluster(nodes), false}};
  job.role_pools.rollout = 1;
  job.workload.prompt_tokens = {FixedLength{1024}, 0, 1024};
  job.workload.response_tokens = {LogNormalLength{8.6, 0.9, 28'672}, 0, 28'672};
  job.train.parallel.tp = tp;
  job.train.sequence_parallel = true;
  job.train.distributed_optimizer = true;
  job.train.dynamic_batching = true;
  job.train.tokens_per_micro_batch = job.train.logprob_tokens_per_micro_batch = 32'768;
  job.train.recompute = Recompute::full;
  job.rollout.max_num_seqs = 256;
  job.rollout.balance = EngineBalance::by_group;
  return s;
}

void time_run(benchmark::State& state, Scenario const& s, int steps) {
  Profile const profile = round_profile();
  time_in_children(state, [&] {
    EventLog const log = simulate(s, profile, {.steps = steps, .seed = 1});
    if (log.outcome != Outcome::completed) throw std::runtime_error(log.outcome_reason);
    benchmark::DoNotOptimize(&log);
  });
}

// 512 groups of 16 a step, 20 steps, at most one version old.
void BM_Asynchronous64And64(benchmark::State& state) {
  Scenario s = on_two_pools(8, 4);
  s.job.algorithm.prompts = 512;
  s.job.algorithm.group_size = 16;
  s.job.algorithm.train_batch = 2048;
  s.job.schedule.kind = ScheduleKind::async;
  time_run(state, s, 20);
}
BENCHMARK(BM_Asynchronous64And64)->UseManualTime()->Unit(benchmark::kMillisecond);

// 8,192 groups of 8, one step.
void BM_OneStep8192And8192(benchmark::State& state) {
  Scenario s = on_two_pools(1024, 8);
  s.job.model = catalog_model("llama-3.1-8b");
  s.job.algorithm.prompts = 8192;
  s.job.algorithm.group_size = 8;
  s.job.algorithm.train_batch = 65'536;
  s.job.rollout.balance = EngineBalance::contiguous;
  time_run(state, s, 1);
}
BENCHMARK(BM_OneStep8192And8192)->UseManualTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace rollcast
