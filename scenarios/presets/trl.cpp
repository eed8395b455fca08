// TRL (huggingface/trl): every rank runs the whole loop, there is no controller. GRPO with use_vllm: in the
// trainer's processes (vllm_mode colocate) or on a server of its own (vllm_mode server). Without use_vllm it
// generates with Hugging Face's generate: write rollout.engine: hf.
#include "scenarios/presets/tables.hpp"

namespace rollcast {
namespace {

constexpr std::string_view kGrpo = "TRL trl/trainer/grpo_config.py";
constexpr std::string_view kBase = "TRL trl/trainer/base_config.py: gradient_checkpointing true";
constexpr std::string_view kArguments = "transformers TrainingArguments: per_device_train_batch_size 8";
constexpr std::string_view kAccelerate =
    "TRL examples/accelerate_configs/deepspeed_zero3.yaml, the one that its guides launch with";
constexpr std::string_view kLoop =
    "TRL trl/trainer/grpo_trainer.py _generate_and_score_completions: weights to vLLM, generation, old "
    "log-probabilities (for the importance correction of vLLM's), reference, rewards, advantages; then the "
    "steps";
constexpr std::string_view kNoSleep = "TRL trl/trainer/grpo_config.py: vllm_enable_sleep_mode false";
constexpr std::string_view kServer = "TRL trl/scripts/vllm_serve.py";
constexpr std::string_view kInProcess =
    "TRL trl/generation/vllm_generation.py: LLM(..., max_num_batched_tokens=4096), one per tensor-parallel "
    "group";

void add_grpo(std::vector<PresetValue>& v, PresetCase const& c) {
  bool const colocated = c.mode == PresetMode::colocated;
  add(v, {{"framework.order",
           "[weight_sync, generate, old_logprob, reference, score, advantage, update_actor]", kLoop}});
  if (colocated)
    add(v, {kSyncByHandle,
            {"framework.engine_first", "false",
             "TRL trl/trainer/grpo_trainer.py __init__: the trainer places the model, then vLLM starts"}});
  if (!colocated) add(v, {{"framework.sync_per_tensor", "1.9 ms", kSyncByCall}});
  add(v,
      {{"framework.reference_on_host", "false", "TRL trl/trainer/grpo_trainer.py: prepared as the model is"},
       {"framework.optimizer_offload", "false", kNoSleep},
       {"framework.parameters_offload", "false", kNoSleep},
       {"algorithm.kl_reference", "false", "TRL trl/trainer/grpo_config.py: beta 0.0, no reference model"},
       {"rollout.engine", "vllm", "TRL with use_vllm, in both of its modes"},
       {"rollout.parallel.tp", "1", kGrpo},
       {"rollout.gpu_memory_utilization", colocated ? "0.3" : "0.9", colocated ? kGrpo : kServer},
       {"rollout.logprobs", "true",
        "TRL trl/trainer/grpo_config.py: vllm_importance_sampling_correction true"},
       {"rollout.balance", "contiguous", colocated ? kInProcess : kServer}});
  if (colocated) add(v, {{"rollout.max_num_batched_tokens", "4096", kInProcess}});
}

}  // namespace

std::vector<PresetValue> trl_preset(PresetCase const& c) {
  using enum AlgorithmKind;
  std::vector<PresetValue> v;
  if (c.algorithm == grpo) add_grpo(v, c);
  if (c.algorithm == dpo)
    add(v, {{"framework.order", "[reference, update_actor]",
             "TRL trl/trainer/dpo_trainer.py: the reference runs beside the policy, precompute_ref_log_probs "
             "false"},
            {"framework.reference_on_host", "false",
             "TRL trl/trainer/dpo_trainer.py: prepared as the model is"}});
  if (c.algorithm == sft) add(v, {{"framework.order", "[update_actor]", "TRL trl/trainer/sft_trainer.py"}});
  add(v, {{"train.trainer", "deepspeed", kAccelerate}, {"train.micro_batch", "8", kArguments}});
  if (c.algorithm != sft) add(v, {{"train.logprob_micro_batch", "8", kArguments}});
  add(v, {{"train.packing", "false",
           c.algorithm == sft ? std::string_view("TRL trl/trainer/sft_config.py")
                              : std::string_view("TRL pads each batch to its longest")},
          {"train.balance", "none", "TRL: every rank trains on the samples that it is given"},
          {"train.padding", "longest", "TRL pads each batch to its longest"},
          {"train.recompute", "full", kBase},
          {"train.cross_entropy", c.algorithm == sft ? "linear" : "whole",
           c.algorithm == sft ? std::string_view("TRL trl/trainer/sft_config.py: loss_type chunked_nll")
                              : std::string_view("TRL selective_log_softmax over whole logits")},
          {"train.kernels", "eager", "TRL trl/trainer/base_config.py: use_liger_kernel false"},
          kHfAttention});
  if (c.trainer == TrainerKind::deepspeed) {
    add(v, {{"train.zero_stage", "3", kAccelerate},
            {"train.gradients", "bf16", kDeepspeedGradients},
            {"train.overlap_gradient_reduce", "true", kDeepspeedOverlap},
            kDeepspeedBucket});
  } else if (c.trainer == TrainerKind::fsdp2) {
    add(v, {{"train.gradients", "bf16", "TRL examples/accelerate_configs/fsdp2.yaml: mixed_precision bf16"}});
  } else if (c.trainer == TrainerKind::ddp) {
    add(v, {{"train.gradients", "bf16",
             "TRL examples/accelerate_configs/multi_gpu.yaml: mixed_precision bf16"}});
  }
  add(v, {kNoController,
          kTorchrun,
          {"watchdog.timeout", "1800 s", "transformers TrainingArguments: ddp_timeout 1800"}});
  return v;
}

}  // namespace rollcast
