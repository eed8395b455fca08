// slime (THUDM/slime): Megatron and SGLang. Its arguments leave the layout to the scripts; what performance
// hangs on is taken from the script of Qwen3-4B.
#include "scenarios/presets/tables.hpp"

namespace rollcast {
namespace {

constexpr std::string_view kScript = "slime scripts/run-qwen3-4B.sh@05a07529";
constexpr std::string_view kArguments = "slime slime/utils/arguments.py";
constexpr std::string_view kMegatron =
    "slime slime/backends/megatron_utils/arguments.py: use_distributed_optimizer";
constexpr std::string_view kSftScript = "slime scripts/run-qwen3-4B-base-sft.sh";
constexpr std::string_view kLoop =
    "slime train.py: generate with scoring, engines offloaded, train (reference and old log-probabilities "
    "inside), "
    "trainer offloaded, engines' weights back, update, KV and graphs back";
constexpr std::string_view kApart = "slime train.py without --colocate: no offload, engines never sleep";
constexpr std::string_view kAsyncLoop =
    "slime train_async.py: rollout k+1 starts before training on k and is waited for before the update";
constexpr std::string_view kOffload =
    "slime slime/utils/arguments.py: --colocate turns offload_train and offload_rollout on";
constexpr std::string_view kSwap =
    "slime slime/backends/megatron_utils/actor.py: the reference's weights are copied from pinned host "
    "memory";

// Beyond bytes: I02 (4B, 8 x H200) 11 s for sleep, wake and update, of which copying some 20 GB each way and
// the update take 1.8 s; I07 (0.6B, one L20) 11.2 + 3.8 s, of which copying 10.7 GB each way takes 0.9 s. 9.2
// and 14.1 s, mean 11.6 s, divided as I07 divides sleep and wake.
constexpr std::string_view kSwitch =
    "fitted over I02 (9.2 s a step) and I07 (14.1): 11.6 s in all, divided as I07's 11.2 and 3.8 s; mostly "
    "communicators that are taken down and built again";

std::string_view order_of(PresetCase const& c) {
  bool const ppo = c.algorithm == AlgorithmKind::ppo;
  if (c.algorithm == AlgorithmKind::sft) return "[update_actor]";
  if (c.mode == PresetMode::colocated) {
    return ppo ? "[generate, score, sleep, values, reference, old_logprob, advantage, update_critic, "
                 "update_actor, "
                 "weight_sync, wake]"
               : "[generate, score, sleep, reference, old_logprob, advantage, update_actor, weight_sync, "
                 "wake]";
  }
  return ppo ? "[generate, score, values, reference, old_logprob, advantage, update_critic, update_actor, "
               "weight_sync]"
             : "[generate, score, reference, old_logprob, advantage, update_actor, weight_sync]";
}

std::string_view order_source(PresetCase const& c) {
  if (c.algorithm == AlgorithmKind::sft) return kSftScript;
  if (c.mode == PresetMode::colocated) return kLoop;
  return c.mode == PresetMode::separate ? kApart : kAsyncLoop;
}

void add_controller(std::vector<PresetValue>& v, PresetCase const& c) {
  bool const colocated = c.mode == PresetMode::colocated;
  add(v, {kRayMemory});
  if (colocated)
    add(v, {{"framework.sleep_fixed", "8.7 s", kSwitch},
            {"framework.wake_fixed", "2.9 s", kSwitch},
            {"framework.engine_first", "true",
             "slime train.py: create_rollout_manager, whose engines then release their memory, before the "
             "training models"},
            {"framework.wake_by_tags", "true", "slime train.py: onload_weights, update_weights, onload_kv"}});
  add(v, {{"framework.driver_per_step", "0.24 s",
           "assumed: as verl's, which is one controller over Ray as well"},
          {"framework.dispatch_per_phase", "0.2 s",
           "assumed: verl issue 2847's largest message of 1024 samples, 0.83 s, sent once for the four "
           "phases of an "
           "actor's step"},
          kSyncByHandle,
          {"framework.reference_on_host", "true", kSwap},
          {"framework.optimizer_offload", colocated ? "true" : "false", colocated ? kOffload : kApart},
          {"framework.parameters_offload", colocated ? "true" : "false", colocated ? kOffload : kApart},
          {"algorithm.kl_reference", "true",
           "slime scripts/run-qwen3-4B.sh@05a07529: --use-kl-loss, for which the reference runs though the "
           "coefficient is 0"}});
}

void add_trainer(std::vector<PresetValue>& v, PresetCase const& c) {
  if (c.spread_experts)
    add(v,
        {{"train.parallel.etp", "1",
          "with ep above 1: slime scripts/run-qwen3-30B-A3B.sh@128cb0e7: --expert-tensor-parallel-size 1"}});
  add(v, {{"train.micro_batch", "1", kArguments},
          {"train.dynamic_batching", "true", kScript},
          {"train.tokens_per_micro_batch", "9216", kScript},
          {"train.logprob_tokens_per_micro_batch", "9216",
           "slime slime/utils/arguments.py: log_probs_max_tokens_per_gpu defaults to max_tokens_per_gpu"},
          {"train.balance", "karmarkar_karp", "slime scripts/run-qwen3-4B.sh@05a07529: --balance-data"},
          {"train.recompute", "full", kScript},
          {"train.sequence_parallel", "true", kScript},
          {"train.distributed_optimizer", "true", kMegatron},
          {"train.gradients", "fp32",
           "slime scripts/run-qwen3-4B.sh@05a07529: --accumulate-allreduce-grads-in-fp32"},
          {"train.overlap_gradient_reduce", "false",
           "slime scripts/run-qwen3-4B.sh@05a07529: no --overlap-grad-reduce"},
          {"train.overlap_parameter_gather", "false",
           "slime scripts/run-qwen3-4B.sh@05a07529: no --overlap-param-gather"},
          {"train.kernels", "fused", kMegatronKernels}});
}

void add_rollout(std::vector<PresetValue>& v, PresetCase const& c) {
  add(v, {{"rollout.engine", "sglang", kArguments},
          {"rollout.parallel.tp", "2", kScript},
          {"rollout.gpu_memory_utilization", "0.7", kScript},
          {"rollout.prefix_caching", "true", "SGLang's radix cache is on unless --disable-radix-cache"},
          {"rollout.logprobs", "true", "slime slime/rollout/sglang_rollout.py: return_logprob true"},
          {"rollout.balance", "least_load",
           "assumed: SGLang's router, cache_aware by default, sends to the shortest queue when loads differ"},
          {"score.overlap", "true",
           "slime slime/rollout/sglang_rollout.py: a sample is scored when it is complete"}});
  if (c.mode == PresetMode::colocated)
    add(v, {{"rollout.sleep_level", "2",
             "SGLang release_memory_occupation: contents are dropped unless a CPU backup is asked for"}});
  if (c.mode != PresetMode::async) return;
  add(v, {{"schedule.async.queue", "slime", kAsyncLoop},
          {"schedule.async.max_staleness", "1", kAsyncLoop},
          {"schedule.async.sync_every", "1", "slime slime/utils/arguments.py: --update-weights-interval 1"},
          {"schedule.async.partial_rollout", "false", kAsyncLoop},
          {"schedule.async.in_flight_updates", "false", kAsyncLoop}});
}

}  // namespace

std::vector<PresetValue> slime_preset(PresetCase const& c) {
  std::vector<PresetValue> v;
  add(v, {{"framework.order", order_of(c), order_source(c)}});
  if (generates(c.algorithm)) add_controller(v, c);
  add(v, {{"train.trainer", "megatron", kArguments}});
  if (c.trainer == TrainerKind::megatron) add_trainer(v, c);
  if (generates(c.algorithm)) add_rollout(v, c);
  return v;
}

}  // namespace rollcast
