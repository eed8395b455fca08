// DeepSpeed-Chat (microsoft/DeepSpeedExamples, applications/DeepSpeed-Chat) as its scripts for OPT run it,
// with the hybrid engine off: Hugging Face generate in the trainer's own processes, so that nothing sleeps
// and no weights move.
#include "scenarios/presets/tables.hpp"

namespace rollcast {
namespace {

constexpr std::string_view kScript =
    "DeepSpeed-Chat training/step3_rlhf_finetuning/training_scripts: ACTOR_ZERO_STAGE 2, per device batches "
    "of 4";
constexpr std::string_view kMain = "DeepSpeed-Chat training/step3_rlhf_finetuning/main.py";
constexpr std::string_view kLoop =
    "DeepSpeed-Chat training/step3_rlhf_finetuning/ppo_trainer.py: generate_experience (actor, reference, "
    "reward, "
    "critic), then train_rlhf, the actor before the critic";
constexpr std::string_view kGenerate =
    "DeepSpeed-Chat training/step3_rlhf_finetuning/ppo_trainer.py: module.generate of one padded batch";
constexpr std::string_view kConfig = "DeepSpeed-Chat training/utils/ds_utils.py get_train_ds_config: fp16";
constexpr std::string_view kPageableOffload =
    "DeepSpeed-Chat training/utils/ds_utils.py get_train_ds_config: offload_optimizer without pin_memory, "
    "off in "
    "DeepSpeed";
constexpr std::string_view kPadding =
    "DeepSpeed-Chat training/utils/data/data_utils.py: prompts are padded to max_prompt_seq_len, samples to "
    "max_seq_len";

void add_online(std::vector<PresetValue>& v) {
  add(v,
      {{"framework.order",
        "[generate, old_logprob, reference, score, values, advantage, update_actor, update_critic]", kLoop},
       {"framework.reference_on_host", "false", "DeepSpeed-Chat main.py: --offload_reference_model off"},
       {"framework.optimizer_offload", "false", "DeepSpeed-Chat main.py: --offload off"},
       {"framework.parameters_offload", "false", kGenerate},
       {"algorithm.kl_reference", "true", kLoop},
       {"rollout.engine", "hf", kGenerate},
       {"rollout.feed", "4", kScript},
       {"rollout.weights", "fp16", kConfig},
       {"rollout.kv_cache", "fp16", kConfig},
       {"rollout.chunked_prefill", "false", kGenerate},
       {"rollout.prefix_caching", "false", kGenerate},
       {"rollout.cuda_graphs", "false", kGenerate},
       {"rollout.logprobs", "false", kGenerate}});
}

}  // namespace

std::vector<PresetValue> deepspeed_chat_preset(PresetCase const& c) {
  std::vector<PresetValue> v;
  if (c.algorithm == AlgorithmKind::ppo) add_online(v);
  if (c.algorithm == AlgorithmKind::dpo)
    add(v, {{"framework.order", "[reference, update_actor]",
             "DeepSpeed-Chat training/step2_dpo_finetuning/main.py: the reference runs before each loss"},
            {"framework.reference_on_host", "false",
             "DeepSpeed-Chat training/step2_dpo_finetuning/main.py: --offload_reference_model off"}});
  if (c.algorithm == AlgorithmKind::sft)
    add(v, {{"framework.order", "[update_actor]",
             "DeepSpeed-Chat training/step1_supervised_finetuning/main.py"}});
  add(v, {{"train.trainer", "deepspeed", kMain}});
  add(v, {kNoController,
          kTorchrun,
          {"watchdog.timeout", "1800 s", "deepspeed/constants.py: default_pg_timeout 30 min"}});
  if (c.trainer != TrainerKind::deepspeed) return v;
  add(v, {{"train.zero_stage", "2", kScript}, {"train.micro_batch", "4", kScript}});
  if (c.algorithm != AlgorithmKind::sft) add(v, {{"train.logprob_micro_batch", "4", kScript}});
  add(v, {{"train.packing", "false", kPadding},
          {"train.padding", "maximum", kPadding},
          {"train.balance", "none", "DeepSpeed-Chat main.py: DistributedSampler"},
          {"train.recompute", "none", "DeepSpeed-Chat main.py: --actor_gradient_checkpointing off"},
          {"train.weights", "fp16", kConfig},
          {"train.gradients", "fp16", kDeepspeedGradients},
          {"train.overlap_gradient_reduce", "false", kDeepspeedOverlap},
          kDeepspeedBucket,
          {"train.pinned_gradients", "false", kPageableOffload},
          {"train.pinned_weights", "false", kPageableOffload},
          {"train.kernels", "eager", kHfKernels}});
  return v;
}

}  // namespace rollcast
