#include "reports/plan_estimate.hpp"

#include <algorithm>
#include <cmath>

#include "models/activations.hpp"
#include "models/engine_memory.hpp"
#include "models/pools.hpp"

namespace rollcast {
namespace {

constexpr double kMatrixShare = 0.5;     // of the peak that long products reach; all shares here are assumed
constexpr double kBandwidthShare = 0.8;  // of the memory's
constexpr double kDecodeStep = 0.008;    // seconds beyond the bytes
constexpr double kTpLoss = 0.04;         // for each rank more
constexpr double kTpLossOverNodes = 0.3;
constexpr double kCpLoss = 0.03;
constexpr double kShortBatch = 512;  // tokens at which a micro-batch reaches half the rate

double mean_tokens(Lengths const& l) { return std::max(1.0, mean(l, 0)); }

double samples_of(Algorithm const& a) {
  return generates(a.kind) ? a.samples() : a.train_batch * (a.kind == AlgorithmKind::dpo ? 2.0 : 1.0);
}

// Forward passes of all models over a step's samples; a backward pass counts two.
double passes(Job const& job) {
  Algorithm const& a = job.algorithm;
  TrainerOptions const& t = job.train;
  double const again = t.recompute == Recompute::full ? 1 : t.recompute == Recompute::selective ? 0.1 : 0;
  double const update = (3 + again) * a.epochs;
  double sum = update;
  std::vector<Phase> const phases = step_phases(job);
  for (Phase p : {Phase::old_logprob, Phase::reference, Phase::values}) sum += contains(phases, p) ? 1 : 0;
  if (a.kind == AlgorithmKind::ppo) sum += update;
  if (a.reward_model) sum += 1;
  return sum;
}

double lost_to_groups(Parallel const& p, int gpus_of_node) {
  double const each = p.tp > gpus_of_node ? kTpLossOverNodes : kTpLoss;
  return (1 + each * (p.tp - 1)) * (1 + kCpLoss * (p.cp - 1));
}

}  // namespace

double estimate_training(Job const& whole, ParameterCounts const& parameters) {
  Job const job = on_pool(whole, whole.role_pools.actor);
  TrainerOptions const& t = job.train;
  Gpu const& gpu = job.cluster.node.gpu;
  double const gpus = job.cluster.gpus();
  double const length = mean_tokens(job.workload.prompt_tokens) + mean_tokens(job.workload.response_tokens);
  double const tokens = samples_of(job.algorithm) * length;
  double const flops = 2.0 * static_cast<double>(parameters.active) * tokens * passes(job);
  double const of_micro_batch =
      t.dynamic_batching ? t.tokens_per_micro_batch : t.micro_batch * length / t.parallel.cp;
  double const m =
      t.dynamic_batching
          ? std::max(1.0, job.algorithm.train_batch * length / data_parallel(job) / of_micro_batch)
          : static_cast<double>(micro_batches_per_step(job));
  double const bubble = (m + t.parallel.pp - 1) / m;
  double const busy = flops / (gpus * kMatrixShare * gpu.bf16.value) * bubble *
                      lost_to_groups(t.parallel, job.cluster.node.gpus) * (1 + kShortBatch / of_micro_batch);
  double const states = 16.0 * static_cast<double>(parameters.total) / gpus / gpu.pcie.value;
  double const updates = std::max(1.0, samples_of(job.algorithm) / std::max(1, job.algorithm.train_batch));
  double copies = t.offload.optimizer ? 2 * updates : 0;
  if (job.framework.optimizer_offload && colocated(job)) copies += 1.5;
  if (job.framework.parameters_offload && colocated(job)) copies += 0.25;
  return busy + copies * states;
}

double estimate_generation(Job const& whole, ParameterCounts const& parameters) {
  if (!has_rollout(whole.algorithm)) return 0;
  Job const job = on_pool(whole, whole.role_pools.rollout);
  EngineOptions const& e = job.rollout;
  Gpu const& gpu = job.cluster.node.gpu;
  double const ranks = e.parallel.tp * e.parallel.pp;
  double const engines = std::max(1.0, job.cluster.gpus() / ranks);
  double const bandwidth = ranks * kBandwidthShare * gpu.memory_bandwidth.value;
  double const weights = size_of(e.weights).value * static_cast<double>(parameters.total);
  double const kv = kv_bytes_per_token(job.model, e).value * ranks;
  double const prompt = mean_tokens(job.workload.prompt_tokens);
  double const response = mean_tokens(job.workload.response_tokens);
  double const room = ranks * e.gpu_memory_utilization * gpu.visible_memory.value - 1.1 * weights;
  double const of_engine = std::max(1.0, job.algorithm.samples() / engines);
  double const held = std::max(1.0, room / (kv * (prompt + response / 2)));
  double const running = std::min({of_engine, held, static_cast<double>(e.max_num_seqs)});
  double const fixed = kDecodeStep * (1 + kTpLoss * (ranks - 1));
  double const alone = weights / bandwidth + fixed;
  double const full = alone + running * (prompt + response / 2) * kv / bandwidth;
  double const longest_response =
      std::max(response, static_cast<double>(longest(job.workload.response_tokens)));
  double const prefill = 2.0 * static_cast<double>(parameters.active) * prompt * job.algorithm.samples() /
                         job.algorithm.group_size / (job.cluster.gpus() * kMatrixShare * gpu.bf16.value);
  return prefill + of_engine / running * response * full + (longest_response - response) / 2 * alone;
}

}  // namespace rollcast
