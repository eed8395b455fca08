// verl (volcengine/verl, verl-project/verl): one controller over Ray workers.
#include "scenarios/presets/tables.hpp"

namespace rollcast {
namespace {

constexpr std::string_view kConfig =
    "verl verl/trainer/config/_generated_ppo_trainer.yaml (the defaults of ppo_trainer.yaml)";
constexpr std::string_view kRollout = "verl verl/trainer/config/rollout/rollout.yaml@74530c75";
constexpr std::string_view kModel = "verl verl/trainer/config/model/hf_model.yaml";
constexpr std::string_view kMegatron = "verl verl/trainer/config/engine/megatron.yaml";
constexpr std::string_view kSft = "verl verl/trainer/config/sft_trainer.yaml";
constexpr std::string_view kMegatronDdp =
    "verl verl/utils/megatron_utils.py get_model: grad_reduce_in_fp32 true, overlap_grad_reduce false";
constexpr std::string_view kLoop =
    "verl verl/trainer/ppo/ray_trainer.py fit: rollout, engines asleep, reward, log-probabilities, "
    "reference, "
    "(values,) advantages, (critic,) actor, then weights into the waking engines";
constexpr std::string_view kOneStepOff =
    "verl docs/advance/one_step_off.md: as ray_trainer.py with engines on GPUs of their own, which do not "
    "sleep";
constexpr std::string_view kFullyAsync =
    "verl verl/experimental/fully_async_policy/config/fully_async_ppo_trainer.yaml";
constexpr std::string_view kRolloutLogprobs =
    "verl verl/experimental/fully_async_policy/config/fully_async_ppo_trainer.yaml: use_rollout_log_probs, "
    "bypass_mode: the trainer computes no old log-probabilities";

// What a step spends on changing over, beyond bytes. Seconds left when the weights' bytes, per-tensor work
// and dispatch are taken off: L01 8.5 s (gen less the longest agent loop) - 2.0 = 6.5; L05 4.2 s of gen - 2.3
// s of decoding 256 tokens = 1.9; R10 10.9 s (step less its timed phases) - 0.6 - 5.0 for a validation of 100
// s every 20 steps (assumed) = 5.3. Mean 4.6 s, divided as the vLLM blog divides sleep and wake (2.78 : 2.85,
// less the bytes).
constexpr std::string_view kSwitch =
    "fitted over L01 (6.5 s a step), L05 (1.9) and R10 (5.3, validation assumed): 4.6 s in all, divided as "
    "in the "
    "vLLM blog on sleep mode";

// L05 56.93 - 56.82, L01 1268.5 - 1268.1 and 927.7 - 927.5.
constexpr std::string_view kDriver =
    "fitted over L05 (0.1 s) and L01 (0.4 and 0.2 s): the step less its timed phases, 256 to 1280 samples";

// Three kinds of message, 1024 samples of up to 18 thousand tokens, two A800: 0.69, 0.83 and 0.22 s.
constexpr std::string_view kDispatch =
    "verl issue 2847: the mean of three DataProto messages of 1024 samples, 0.69, 0.83 and 0.22 s";

// The engines of two fp8 models of one table differ by 47,592 tensors, 4.17 s in all and 0.77 s of copying
// from host memory; W01 and the table's other rows were not used.
constexpr std::string_view kLoader =
    "MoonshotAI checkpoint-engine README, vLLM 0.10.2, DeepSeek-V3.1 and Kimi-K2 on 16 H20: 91,991 and "
    "139,583 tensors in 10.19 and 14.36 s, of which 1.55 and 2.32 s from host memory";
constexpr std::string_view kMegatronExport =
    "assumed: as long as the engine's loader (weight_sync.load_per_tensor); both are Python work on one name";
constexpr std::string_view kFullTensor =
    "verl verl/checkpoint_engine/README.md: Qwen3-30B-A3B from an FSDP trainer, 18,867 tensors in some 7 s "
    "without loading; the bytes, some 1.3 s, travel meanwhile";

std::string_view order_of(PresetCase const& c) {
  bool const ppo = c.algorithm == AlgorithmKind::ppo;
  if (c.algorithm == AlgorithmKind::sft) return "[update_actor]";
  if (c.mode == PresetMode::colocated) {
    return ppo ? "[generate, sleep, score, old_logprob, reference, values, advantage, update_critic, "
                 "update_actor, "
                 "weight_sync, wake]"
               : "[generate, sleep, score, old_logprob, reference, advantage, update_actor, weight_sync, "
                 "wake]";
  }
  if (c.mode == PresetMode::async) {
    return ppo ? "[generate, score, reference, values, advantage, update_critic, update_actor, weight_sync]"
               : "[generate, score, reference, advantage, update_actor, weight_sync]";
  }
  return ppo ? "[generate, score, old_logprob, reference, values, advantage, update_critic, update_actor, "
               "weight_sync]"
             : "[generate, score, old_logprob, reference, advantage, update_actor, weight_sync]";
}

std::string_view order_source(PresetCase const& c) {
  if (c.algorithm == AlgorithmKind::sft) return kSft;
  if (c.mode == PresetMode::colocated) return kLoop;
  return c.mode == PresetMode::async ? kRolloutLogprobs : kOneStepOff;
}

void add_controller(std::vector<PresetValue>& v, PresetCase const& c) {
  add(v, {kRayMemory});
  if (c.mode == PresetMode::colocated) {
    add(v, {{"framework.sleep_fixed", "2.1 s", kSwitch},
            {"framework.wake_fixed", "2.5 s", kSwitch},
            {"framework.engine_first", "false",
             "verl verl/workers/fsdp_workers.py init_model: the actor, its optimizer and their offload, then "
             "the rollout"},
            {"framework.wake_by_tags", "true",
             "verl verl/workers/fsdp_workers.py rollout_mode: resume weights, update, resume kv_cache"},
            c.trainer == TrainerKind::megatron ? kSyncByExport : kSyncByHandle});
  } else {
    bool const export_by_name = c.trainer == TrainerKind::megatron;
    add(v, {{"framework.sync_per_tensor", export_by_name ? "0.07 ms" : "0.37 ms",
             export_by_name ? kMegatronExport : kFullTensor},
            {"weight_sync.load_per_tensor", "0.07 ms", kLoader}});
  }
  bool const fsdp = c.trainer == TrainerKind::fsdp2;
  add(v,
      {{"framework.driver_per_step", "0.24 s", kDriver},
       {"framework.dispatch_per_phase", "0.58 s", kDispatch},
       {"framework.reference_on_host", fsdp ? "true" : "false",
        fsdp ? std::string_view("verl verl/workers/fsdp_workers.py: the reference is forced into CPUOffload")
             : std::string_view("verl verl/trainer/config/ref/megatron_ref.yaml: no param_offload")},
       {"framework.optimizer_offload", "false", kConfig},
       {"framework.parameters_offload", "false", kConfig},
       {"algorithm.kl_reference", "false",
        "verl verl/trainer/config/_generated_ppo_trainer.yaml: use_kl_loss and use_kl_in_reward false"}});
}

void add_trainer(std::vector<PresetValue>& v, PresetCase const& c) {
  bool const sft = c.algorithm == AlgorithmKind::sft;
  add(v, {{"train.trainer", "fsdp2", sft ? kSft : kConfig}});
  if (sft) {
    add(v, {{"train.micro_batch", "4", kSft},
            {"train.packing", "false", kSft},
            {"train.balance", "none", "verl verl/trainer/config/sft_trainer.yaml: balance_dp_token false"}});
  } else {
    add(v, {{"train.dynamic_batching", "false", kConfig},
            {"train.tokens_per_micro_batch", "16384", kConfig},
            {"train.logprob_tokens_per_micro_batch", "16384", kConfig},
            {"train.balance", "karmarkar_karp",
             "verl verl/trainer/config/_generated_ppo_trainer.yaml: balance_batch true"}});
  }
  if (c.trainer == TrainerKind::megatron) {
    add(v, {{"train.recompute", "none", kMegatron},
            {"train.sequence_parallel", "true", kMegatron},
            {"train.distributed_optimizer", "true", kMegatron},
            {"train.gradients", "fp32", kMegatronDdp},
            {"train.overlap_gradient_reduce", "false", kMegatronDdp},
            {"train.overlap_parameter_gather", "false", kMegatronDdp},
            {"train.kernels", "fused", kMegatronKernels}});
  } else if (c.trainer == TrainerKind::fsdp2) {
    add(v, {{"train.recompute", sft ? "none" : "full", sft ? kSft : kModel},
            {"train.gradients", "fp32",
             "verl verl/workers/fsdp_workers.py: MixedPrecision with param_dtype bf16, reduce_dtype float32"},
            {"train.allocator", "expandable_segments:True",
             "verl verl/workers/fsdp_workers.py: set_expandable_segments(True) after the weights are synced, "
             "False "
             "before"},
            {"train.context_parallel", "ulysses",
             "verl verl/trainer/config/engine/fsdp.yaml: ulysses_sequence_parallel_size"}});
    if (!sft)
      add(v, {{"train.cross_entropy", "fused",
               "verl verl/utils/torch_functional.py: logprobs by flash-attn's Triton cross entropy"}});
    add(v, {kHfAttention,
            {"train.kernels", "eager",
             "verl verl/trainer/config/model/hf_model.yaml: use_liger and use_fused_kernels false; "
             "torch.compile "
             "covers the entropy only"}});
  }
}

void add_rollout(std::vector<PresetValue>& v, PresetCase const& c) {
  add(v,
      {{"rollout.engine", "vllm", "verl rollout.name must be given; vllm in most of examples/"},
       {"rollout.parallel.tp", "2", kRollout},
       {"rollout.gpu_memory_utilization", "0.5", kRollout},
       {"rollout.max_num_seqs", "256", kRollout},
       {"rollout.max_num_batched_tokens", "8192", kRollout},
       {"rollout.chunked_prefill", "true", kRollout},
       {"rollout.prefix_caching", "true", kRollout},
       {"rollout.cuda_graphs", "true", kRollout},
       {"rollout.logprobs", "true", kConfig},
       {"rollout.balance", "least_load",
        "verl verl/experimental/agent_loop/agent_loop.py: the server with the fewest requests"},
       {"score.workers", "8", "verl verl/trainer/config/_generated_ppo_trainer.yaml: reward.num_workers 8"}});
  if (c.mode == PresetMode::colocated)
    add(v,
        {{"rollout.sleep_level", "2", "verl verl/third_party/vllm/__init__.py: level 2 from vLLM 0.8.5 on"}});
  if (c.mode != PresetMode::async) return;
  add(v, {{"schedule.async.queue", "verl", kFullyAsync},
          {"schedule.async.max_staleness", "0.1", kFullyAsync},
          {"schedule.async.sync_every", "1",
           "a step is what lies between two weight syncs of verl, trigger_parameter_sync_step parts"},
          {"schedule.async.parts_per_step", "4", kFullyAsync},
          {"schedule.async.partial_rollout", "true", kFullyAsync},
          {"schedule.async.in_flight_updates", "false",
           "verl docs/advance/fully_async.md: a sync aborts the requests, which go on after it"}});
}

}  // namespace

std::vector<PresetValue> verl_preset(PresetCase const& c) {
  std::vector<PresetValue> v;
  add(v, {{"framework.order", order_of(c), order_source(c)}});
  if (generates(c.algorithm)) add_controller(v, c);
  add_trainer(v, c);
  if (generates(c.algorithm)) add_rollout(v, c);
  return v;
}

}  // namespace rollcast
