// Small jobs of every algorithm, trainer and schedule, drawn at random; the scenario checks accept them all.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <random>

#include "models/pools.hpp"
#include "tests/models/price_fixtures.hpp"

namespace rollcast {

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : bits_(seed) {}

  template <class T>
  T of(std::initializer_list<T> all) {
    return *std::next(all.begin(), static_cast<std::ptrdiff_t>(bits_() % all.size()));
  }
  bool coin() { return of({false, true}); }

 private:
  std::mt19937_64 bits_;
};

inline void draw_trainer(Job& job, Draw& draw) {
  TrainerOptions& t = job.train;
  t.kind = draw.of({TrainerKind::megatron, TrainerKind::fsdp2, TrainerKind::deepspeed, TrainerKind::ddp});
  t.balance = draw.of({Balance::none, Balance::sorted, Balance::karmarkar_karp});
  t.recompute = draw.of({Recompute::none, Recompute::full});
  t.dynamic_batching = draw.coin();
  t.packing = !t.dynamic_batching && draw.coin();
  t.micro_batch = t.packing ? 1 : draw.of({1, 2});
  t.tokens_per_micro_batch = t.logprob_tokens_per_micro_batch = 4096;
  switch (t.kind) {
    case TrainerKind::megatron:
      t.parallel.tp = draw.of({1, 2});
      t.parallel.pp = draw.of({1, 2});
      if (t.parallel.pp > 1 && t.dynamic_batching) t.virtual_stages = draw.of({1, 2, 4});
      t.distributed_optimizer = draw.coin();
      return;
    case TrainerKind::fsdp2:
      t.zero_stage = 3;
      return;
    case TrainerKind::deepspeed:
      t.zero_stage = draw.of({1, 2, 3});
      return;
    case TrainerKind::ddp:
      return;
  }
}

inline void draw_scoring(Job& job, Draw& draw) {
  Scoring& s = job.score;
  s.seconds_per_sample = Seconds(draw.of({0.0, 0.002}));
  s.workers = draw.of({1, 8});
  s.overlap = draw.coin();
  if (draw.coin()) s.sandbox = {draw.of({2, 64}), {Seconds(0.3), Seconds(draw.of({0.0, 1.0}))}, Seconds(5)};
  if (draw.coin())
    s.environment = {draw.of({2, 3}), draw.of({0, 50}), {Seconds(0.2), Seconds(draw.of({0.0, 0.6}))}, false};
}

// One pool, or one each for the trainer and the engines.
inline void give_pools(Job& job, bool two) {
  job.cluster = h100_cluster(1);
  job.pools.clear();
  if (!two) return;
  job.pools = {{"train", h100_cluster(1), false}, {"rollout", h100_cluster(1), false}};
  job.role_pools.rollout = 1;
}

// 16 prompts of 4 samples on Llama-3.2-1B.
inline Job draw_job(Draw& draw, bool two_pools) {
  Job job = llama_job(1);
  job.model = catalog_model("llama-3.2-1b");
  give_pools(job, two_pools);
  job.algorithm.kind = draw.of({AlgorithmKind::grpo, AlgorithmKind::grpo, AlgorithmKind::ppo});
  job.algorithm.prompts = 16;
  job.algorithm.group_size = 4;
  job.algorithm.train_batch = 16;
  job.algorithm.kl_reference = draw.coin();
  job.algorithm.reward_model = draw.coin();
  job.algorithm.epochs = draw.of({1, 2});
  if (job.algorithm.kind == AlgorithmKind::ppo) {
    job.algorithm.critic_warmup = draw.of({0, 1});
    if (two_pools && draw.coin()) {
      job.pools.push_back({"critic", h100_cluster(1), false});
      job.role_pools.critic = 2;
    }
  }
  job.workload.prompt_tokens = {FixedLength{100}, 0, 100};
  job.workload.response_tokens = {LogNormalLength{5.5, 0.8, 1500}, 0, 1500};
  job.framework.driver_per_step = Seconds(draw.of({0.0, 0.1}));
  job.framework.dispatch_per_phase = Seconds(draw.of({0.0, 0.05}));
  draw_trainer(job, draw);
  draw_scoring(job, draw);
  EngineOptions& e = job.rollout;
  e.gpu_memory_utilization = 0.4;
  e.parallel.tp = draw.of({1, 2});
  e.max_num_seqs = draw.of({4, 1024});
  e.balance = draw.of({EngineBalance::contiguous, EngineBalance::round_robin, EngineBalance::least_load,
                       EngineBalance::by_group});
  return job;
}

// What only schedules that wait for whole steps have.
inline void draw_step_options(Job& job, Draw& draw) {
  job.rollout.feed = draw.of({0, 0, 3});
  switch (draw.of({0, 1, 2, 3})) {
    case 0:
      return;
    case 1:
      job.algorithm.equal_reward_groups = job.algorithm.kind == AlgorithmKind::grpo ? 0.3 : 0;
      job.algorithm.dynamic_sampling = DynamicSampling{draw.of({1.0, 1.5}), 20};
      return;
    default:
      job.rollout.oversampling = draw.of({1.25, 2.0});
      job.rollout.partial_rollout = draw.coin();
  }
}

inline Job synchronous_job(Draw& draw, bool two_pools) {
  Job job = draw_job(draw, two_pools);
  draw_step_options(job, draw);
  return job;
}

inline Job one_step_off_job(Draw& draw) {
  Job job = synchronous_job(draw, true);
  job.schedule.kind = ScheduleKind::one_step_off;
  return job;
}

inline Job asynchronous_job(Draw& draw, QueueRule rule) {
  Job job = draw_job(draw, true);
  job.schedule.kind = ScheduleKind::async;
  AsyncOptions& a = job.schedule.async;
  a.queue = rule;
  a.max_staleness = rule == QueueRule::verl ? draw.of({0.0, 0.5, 1.0}) : draw.of({1.0, 2.0});
  a.sync_every = draw.of({1, 2});
  a.parts_per_step = draw.of({1, 2, 4});
  a.partial_rollout = draw.coin();
  a.in_flight_updates = draw.coin();
  a.max_concurrent = draw.of({0, 32});
  return job;
}

inline Job data_set_job(Draw& draw, AlgorithmKind kind) {
  Job job = draw_job(draw, false);
  job.algorithm = {};
  job.algorithm.kind = kind;
  job.algorithm.train_batch = draw.of({16, 32});
  job.algorithm.kl_reference = kind == AlgorithmKind::dpo;
  job.algorithm.reference_precomputed = kind == AlgorithmKind::dpo && draw.coin();
  job.score = {};
  return job;
}

}  // namespace rollcast
