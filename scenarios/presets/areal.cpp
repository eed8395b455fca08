// AReaL (inclusionAI/AReaL): asynchronous by design, engines behind HTTP on GPUs of their own. The defaults
// of its dataclasses run no experiment; what they leave open is taken from its GSM8K example.
#include "scenarios/presets/tables.hpp"

namespace rollcast {
namespace {

constexpr std::string_view kExample = "AReaL examples/math/gsm8k_grpo.yaml";
constexpr std::string_view kArguments = "AReaL areal/api/cli_args.py@0073c330";
constexpr std::string_view kSftExample = "AReaL examples/math/gsm8k_sft.yaml";
constexpr std::string_view kLoop =
    "AReaL examples/math/gsm8k_grpo.py: samples with their rewards, recomputed log-probabilities, reference, "
    "advantages, update, weights to the engines";
constexpr std::string_view kPpoLoop =
    "AReaL examples/math/gsm8k_ppo.py: values first, the actor's update before the critic's";
constexpr std::string_view kSgLang = "AReaL areal/api/cli_args.py@0073c330 SGLangConfig";
constexpr std::string_view kStaleness = "AReaL examples/math/gsm8k_grpo.yaml: max_head_offpolicyness 2";
constexpr std::string_view kInterrupt =
    "AReaL areal/core/remote_inf_engine.py: a pause aborts the requests, the client sends prompt and answer "
    "so far "
    "again";
constexpr std::string_view kNoOffload = "AReaL examples/math/gsm8k_grpo.yaml: enable_offload false";

void add_online(std::vector<PresetValue>& v, PresetCase const& c) {
  bool const ppo = c.algorithm == AlgorithmKind::ppo;
  add(v, {{"framework.order",
           ppo ? "[generate, score, values, old_logprob, reference, advantage, update_actor, update_critic, "
                 "weight_sync]"
               : "[generate, score, old_logprob, reference, advantage, update_actor, weight_sync]",
           ppo ? kPpoLoop : kLoop},
          {"framework.sync_per_tensor", "0.15 ms",
           "assumed: as verl's checkpoint engine (W01); both broadcast in buckets over NCCL"},
          {"framework.reference_on_host", "false", kNoOffload},
          {"framework.optimizer_offload", "false", kNoOffload},
          {"framework.parameters_offload", "false", kNoOffload},
          {"algorithm.kl_reference", "false", "AReaL examples/math/gsm8k_grpo.yaml: kl_ctl 0.0"},
          {"rollout.engine", "sglang", kExample},
          {"rollout.parallel.tp", "1", "AReaL examples/math/gsm8k_grpo.yaml: sglang:d4p1t1"},
          {"rollout.gpu_memory_utilization", "0.8", kExample},
          {"rollout.chunked_prefill", "false", kSgLang},
          {"rollout.prefix_caching", "false", kSgLang},
          {"rollout.cuda_graphs", "true", kSgLang},
          {"rollout.logprobs", "true",
           "AReaL areal/core/remote_inf_engine.py: log-probabilities come with the tokens"},
          {"rollout.balance", "round_robin",
           "AReaL areal/api/cli_args.py@0073c330 InferenceEngineConfig: schedule_policy round_robin"},
          {"score.overlap", "true", "AReaL areal/workflow/rlvr.py: a sample is scored when it is complete"}});
  if (c.mode != PresetMode::async) return;
  add(v, {{"schedule.async.queue", "areal", "AReaL areal/core/staleness_manager.py"},
          {"schedule.async.max_staleness", "2", kStaleness},
          {"schedule.async.sync_every", "1", kLoop},
          {"schedule.async.partial_rollout", "true", kInterrupt},
          {"schedule.async.in_flight_updates", "false", kInterrupt}});
}

}  // namespace

std::vector<PresetValue> areal_preset(PresetCase const& c) {
  std::vector<PresetValue> v;
  bool const sft = c.algorithm == AlgorithmKind::sft;
  if (sft) add(v, {{"framework.order", "[update_actor]", kSftExample}});
  if (!sft) add_online(v, c);
  add(v, {{"train.trainer", "fsdp2", kExample},
          {"train.dynamic_batching", "true", kExample},
          {"train.tokens_per_micro_batch", "10240", kExample},
          {"train.logprob_tokens_per_micro_batch", "10240", kExample},
          {"train.balance", "karmarkar_karp",
           "AReaL areal/core/dist_rollout.py redistribute: longest first to the least loaded rank, to which "
           "this is "
           "the nearest"},
          {"train.recompute", "full", kExample},
          {"train.gradients", "fp32", "AReaL areal/api/cli_args.py@0073c330: grad_reduce_dtype float32"}});
  if (c.trainer == TrainerKind::megatron) {
    if (c.spread_experts)
      add(v, {{"train.parallel.etp", "1",
               "with ep above 1: AReaL areal/api/alloc_mode.py ParallelStrategy: expert_tensor_parallel_size "
               "1"}});
    add(v, {{"train.distributed_optimizer", "true", kArguments},
            {"train.overlap_gradient_reduce", "false", kArguments},
            {"train.overlap_parameter_gather", "false", kArguments},
            {"train.kernels", "fused", kMegatronKernels}});
  } else if (c.trainer == TrainerKind::fsdp2) {
    add(v, {{"train.kernels", "eager", kHfKernels}, kHfAttention});
  }
  add(v, {{"watchdog.timeout", "7200 s", "areal/api/cli_args.py: the trainer's process groups wait 7200 s"}});
  return v;
}

}  // namespace rollcast
