#include "scenarios/preset.hpp"

namespace rollcast {
namespace {

// Files of the NeMo RL repository (NVIDIA-NeMo/RL) as of late 2025.
constexpr std::string_view kConfig = "NeMo RL examples/configs/grpo_math_1B.yaml";
constexpr std::string_view kMegatronConfig = "NeMo RL examples/configs/grpo_math_1B_megatron.yaml";
constexpr std::string_view kLoop =
    "NeMo RL nemo_rl/algorithms/grpo.py: rollout with scoring, engine sleep, advantages, "
    "log-probabilities, training, then refit and wake before the next rollout";
constexpr std::string_view kPpoLoop =
    "NeMo RL nemo_rl/algorithms/grpo.py order, with the critic's phases of PPO added";
constexpr std::string_view kWorker =
    "NeMo RL nemo_rl/models/policy/workers: use_reference_model, offload_before_refit, "
    "offload_after_refit";

// vLLM blog on sleep mode, level 1, Qwen3-Coder-30B-A3B (30.53e9 parameters, 61.1 GB in bf16) on one A100:
// sleep 2.78 s, wake 2.85 s. At the 26.2 GB/s that nvbandwidth shows for pinned copies on an A100 the bytes
// take 2.33 s.
constexpr std::string_view kSleep =
    "vLLM blog on sleep mode (A100, 61.1 GB): 2.78 s less 2.33 s of copying at 26.2 GB/s";
constexpr std::string_view kWake =
    "vLLM blog on sleep mode (A100, 61.1 GB): 2.85 s less 2.33 s of copying at 26.2 GB/s";

// Least squares of seconds = a x tensors + b x bytes through three reshards of verl PR 116 (8 x L20, TP4):
// Qwen2.5-3B 434 tensors 6.2 GB 0.236 s, Qwen2.5-7B 339 tensors 15.2 GB 0.547 s, Llama-3-8B 291 tensors 16.1
// GB 0.570 s: a = 0.05 ms, b = 35 ms per GB.
constexpr std::string_view kSync =
    "verl PR 116, three FSDP to vLLM reshards: 0.05 ms per tensor beside the bytes";
constexpr std::string_view kDriver = "NeMo RL PR 1052, timing printout of a step: data_processing 0.23 s";
constexpr std::string_view kPacks =
    "NeMo RL nemo_rl/models/megatron/data.py: with pipeline parallelism all packs of a batch get one length";
constexpr std::string_view kSampling =
    "NeMo RL nemo_rl/models/generation/vllm/vllm_worker.py: SamplingParams(logprobs=0), always";
constexpr std::string_view kScheduling =
    "vLLM pull 19970: asynchronous scheduling needs the flag --async-scheduling, which NeMo RL does not set";
constexpr std::string_view kBucket =
    "Megatron Core DistributedDataParallelConfig: 40 million parameters per bucket, 2 B each";

std::vector<PresetValue> nemo_rl(AlgorithmKind algorithm, TrainerKind trainer) {
  std::vector<PresetValue> v = {
      {"framework.sleep_fixed", "0.45 s", kSleep},
      {"framework.wake_fixed", "0.52 s", kWake},
      {"framework.driver_per_step", "0.23 s", kDriver},
      {"framework.sync_per_tensor", "0.05 ms", kSync},
      {"framework.reference_on_host", "true", kWorker},
      {"framework.optimizer_offload", "true", kWorker},
      {"framework.parameters_offload", "true", kWorker},
      {"train.trainer", "fsdp2", kConfig},
      {"train.micro_batch", "4", kConfig},
      {"train.logprob_micro_batch", "4", kConfig},
      {"train.packing", "true", kConfig},
      {"train.recompute", "none", kConfig},
  };
  if (algorithm == AlgorithmKind::grpo) {
    v.push_back(
        {"framework.order",
         "[generate, score, sleep, advantage, old_logprob, reference, update_actor, weight_sync, wake]",
         kLoop});
  } else if (algorithm == AlgorithmKind::ppo) {
    v.push_back(
        {"framework.order",
         "[generate, score, sleep, values, old_logprob, reference, advantage, update_critic, update_actor, "
         "weight_sync, wake]",
         kPpoLoop});
  }
  if (trainer == TrainerKind::megatron) {
    v.push_back({"train.equal_packs", "true", kPacks});
    v.push_back({"train.distributed_optimizer", "true", kMegatronConfig});
    v.push_back({"train.gradients", "bf16", kMegatronConfig});
    v.push_back({"train.overlap_gradient_reduce", "true", kMegatronConfig});
    v.push_back({"train.overlap_parameter_gather", "true", kMegatronConfig});
    v.push_back({"train.bucket", "80 MB", kBucket});
  }
  if (algorithm == AlgorithmKind::grpo || algorithm == AlgorithmKind::ppo) {
    v.push_back({"rollout.engine", "vllm", kConfig});
    v.push_back({"rollout.gpu_memory_utilization", "0.6", kConfig});
    v.push_back({"rollout.async_scheduling", "false", kScheduling});
    v.push_back({"rollout.logprobs", "true", kSampling});
    v.push_back({"rollout.sleep_level", "1",
                 "NeMo RL nemo_rl/models/generation/vllm/vllm_worker.py: sleep(level=1)"});
  }
  return v;
}

}  // namespace

std::vector<PresetValue> framework_preset(FrameworkKind framework, AlgorithmKind algorithm,
                                          TrainerKind trainer) {
  if (framework == FrameworkKind::nemo_rl) return nemo_rl(algorithm, trainer);
  return {};
}

TrainerKind default_trainer(FrameworkKind framework) {
  return framework == FrameworkKind::nemo_rl ? TrainerKind::fsdp2 : TrainerKind::megatron;
}

bool has_preset(FrameworkKind framework) {
  return framework == FrameworkKind::nemo_rl || framework == FrameworkKind::none;
}

std::vector<FrameworkKind> const& known_frameworks() {
  static std::vector<FrameworkKind> const all = {
      FrameworkKind::nemo_rl, FrameworkKind::verl, FrameworkKind::openrlhf,       FrameworkKind::slime,
      FrameworkKind::areal,   FrameworkKind::trl,  FrameworkKind::deepspeed_chat, FrameworkKind::none};
  return all;
}

EngineLimits vllm_limits(Gpu const& gpu) {
  // The names of the catalog start with the card's: a100-sxm-80gb, a100-pcie-80gb.
  bool const a100 = gpu.name.rfind("a100", 0) == 0;
  if (gpu.visible_memory >= GiB(70) && !a100)
    return {1024, 16384, "vLLM's limits for cards of 70 GiB and more but the A100"};
  return {256, 8192, "vLLM's limits for cards below 70 GiB and the A100"};
}

}  // namespace rollcast
