// NeMo RL (NVIDIA-NeMo/RL) as of late 2025.
#include "scenarios/presets/tables.hpp"

namespace rollcast {
namespace {

constexpr std::string_view kConfig = "NeMo RL examples/configs/grpo_math_1B.yaml";
constexpr std::string_view kMegatronConfig = "NeMo RL examples/configs/grpo_math_1B_megatron.yaml";
constexpr std::string_view kDpoConfig = "NeMo RL examples/configs/dpo.yaml";
constexpr std::string_view kSftConfig = "NeMo RL examples/configs/sft.yaml";
constexpr std::string_view kLoop =
    "NeMo RL nemo_rl/algorithms/grpo.py: rollout with scoring, engine sleep, advantages, "
    "log-probabilities, training, then refit and wake before the next rollout";
constexpr std::string_view kPpoLoop =
    "NeMo RL nemo_rl/algorithms/grpo.py order, with the critic's phases of PPO added";
constexpr std::string_view kAsyncLoop =
    "NeMo RL docs/guides/async-grpo.md: generation on GPUs of its own never sleeps";
constexpr std::string_view kPageable =
    "NeMo RL nemo_rl/models/policy/workers: offload_before_refit and prepare_for_training move each state by "
    ".to(device), without pinning";
constexpr std::string_view kWorker =
    "NeMo RL nemo_rl/models/policy/workers: use_reference_model, offload_before_refit, "
    "offload_after_refit";
constexpr std::string_view kApart =
    "NeMo RL nemo_rl/algorithms/grpo.py: states are offloaded before the refit only where generation is "
    "colocated";
constexpr std::string_view kDriver =
    "NeMo RL PR 1052, timing printout of a step: data_processing 0.23 s, logprob_inference_prep 1.34 s, "
    "training_prep 1.06 s";
constexpr std::string_view kDriverApart =
    "NeMo RL PR 1052, timing printout of a step: data_processing 0.23 s, logprob_inference_prep 1.34 s, "
    "training_prep 1.06 s, buffer_sampling 1.38 s";
constexpr std::string_view kInProcess =
    "NeMo RL nemo_rl/models/generation/vllm/vllm_worker.py: vllm.LLM with VLLM_ENABLE_V1_MULTIPROCESSING=0; "
    "issue 963: slower than the asynchronous engine, whose process is apart";
// Exported tensors are packed and broadcast meanwhile, in buffers of many.
constexpr PresetValue kSyncByPack = {
    "framework.sync_per_tensor", "0.237 ms",
    "NeMo RL PR 1379, refits of GPUs apart: 5.5 s for the 36,945 tensors of Qwen3-235B, 14 s for the 45,395 "
    "of DeepSeek-V3"};
constexpr std::string_view kPacks =
    "NeMo RL nemo_rl/models/megatron/data.py: with pipeline parallelism all packs of a batch get one length";
constexpr std::string_view kSampling =
    "NeMo RL nemo_rl/models/generation/vllm/vllm_worker.py: SamplingParams(logprobs=0), always";
constexpr std::string_view kScheduling =
    "vLLM pull 19970: asynchronous scheduling needs the flag --async-scheduling, which NeMo RL does not set";
constexpr std::string_view kBucket =
    "Megatron Core DistributedDataParallelConfig: 40 million parameters per bucket, 2 B each";
constexpr std::string_view kAsync = "NeMo RL docs/guides/async-grpo.md, complete example";

void add_order(std::vector<PresetValue>& v, PresetCase const& c) {
  bool const colocated = c.mode == PresetMode::colocated;
  if (c.algorithm == AlgorithmKind::sft) {
    add(v, {{"framework.order", "[update_actor]", "NeMo RL nemo_rl/algorithms/sft.py"}});
  } else if (c.algorithm == AlgorithmKind::dpo) {
    add(v, {{"framework.order", "[reference, update_actor]",
             "NeMo RL nemo_rl/algorithms/dpo.py: log-probabilities of the reference for each batch, then the "
             "update"}});
  } else if (c.algorithm == AlgorithmKind::grpo) {
    add(v,
        {{"framework.order",
          colocated
              ? "[generate, score, sleep, advantage, old_logprob, reference, update_actor, weight_sync, wake]"
              : "[generate, score, advantage, old_logprob, reference, update_actor, weight_sync]",
          colocated ? kLoop : kAsyncLoop}});
  } else {
    add(v, {{"framework.order",
             colocated ? "[generate, score, sleep, values, old_logprob, reference, advantage, update_critic, "
                         "update_actor, weight_sync, wake]"
                       : "[generate, score, values, old_logprob, reference, advantage, update_critic, "
                         "update_actor, weight_sync]",
             colocated ? kPpoLoop : kAsyncLoop}});
  }
}

void add_switching(std::vector<PresetValue>& v, PresetCase const& c) {
  bool const colocated = c.mode == PresetMode::colocated;
  if (colocated) {
    add(v, {kVllmSleep,
            kVllmWake,
            {"framework.engine_first", "true",
             "NeMo RL nemo_rl/algorithms/grpo.py setup: VllmGeneration and its finish_generation come before "
             "the policy"},
            {"framework.wake_by_tags", "true",
             "NeMo RL nemo_rl/algorithms/grpo.py refit_policy_generation: tags weights, then kv_cache"}});
  }
  add(v, {kRayMemory});
  PresetValue const by_name = colocated ? kSyncByExport : kSyncByPack;
  add(v, {colocated ? PresetValue{"framework.driver_per_step", "2.63 s", kDriver}
                    : PresetValue{"framework.driver_per_step", "4.01 s", kDriverApart},
          c.trainer == TrainerKind::megatron ? by_name : kSyncByHandle,
          {"framework.pinned_copies", "false", kPageable},
          {"framework.optimizer_offload", colocated ? "true" : "false", colocated ? kWorker : kApart},
          {"framework.parameters_offload", colocated ? "true" : "false", colocated ? kWorker : kApart}});
}

void add_trainer(std::vector<PresetValue>& v, PresetCase const& c) {
  using enum AlgorithmKind;
  std::string_view const config = c.algorithm == dpo ? kDpoConfig : c.algorithm == sft ? kSftConfig : kConfig;
  std::string_view const batch = c.algorithm == dpo ? "2" : c.algorithm == sft ? "1" : "4";
  bool const online = generates(c.algorithm);
  add(v, {{"train.trainer", "fsdp2", config}, {"train.micro_batch", batch, config}});
  if (c.algorithm != sft) add(v, {{"train.logprob_micro_batch", batch, config}});
  add(v, {{"train.packing", online ? "true" : "false", config},
          {"train.balance", online ? "sorted" : "none",
           "NeMo RL nemo_rl/distributed/batched_data_dict.py shard_by_batch_size: by length, dealt out over "
           "the ranks (read "
           "for dynamic batching, assumed of packs)"},
          {"train.recompute", "none", config}});
  if (c.trainer == TrainerKind::megatron) {
    if (online) add(v, {{"train.equal_packs", "true", kPacks}});
    if (c.spread_experts)
      add(v,
          {{"train.parallel.etp", "1",
            "with ep above 1: NeMo RL examples/configs/grpo_math_1B.yaml: expert_tensor_parallel_size 1"}});
    add(v, {{"train.distributed_optimizer", "true", kMegatronConfig},
            {"train.gradients", "bf16", kMegatronConfig},
            {"train.overlap_gradient_reduce", "true", kMegatronConfig},
            {"train.overlap_parameter_gather", "true", kMegatronConfig},
            {"train.bucket", "80 MB", kBucket},
            {"train.kernels", "fused", kMegatronKernels}});
  } else if (c.trainer == TrainerKind::fsdp2) {
    add(v, {{"train.gradients", "fp32",
             "NeMo RL nemo_rl/models/dtensor/parallelize.py: MixedPrecisionPolicy with reduce_dtype float32"},
            {"train.kernels", "eager", kHfKernels},
            kHfAttention});
  }
}

}  // namespace

std::vector<PresetValue> nemo_rl_preset(PresetCase const& c) {
  std::vector<PresetValue> v;
  add_order(v, c);
  if (generates(c.algorithm)) add_switching(v, c);
  if (c.algorithm != AlgorithmKind::sft) add(v, {{"framework.reference_on_host", "true", kWorker}});
  if (c.algorithm == AlgorithmKind::grpo)
    add(v, {{"algorithm.kl_reference", "true",
             "NeMo RL examples/configs/grpo_math_1B.yaml: reference_policy_kl_penalty 0.01"}});
  add_trainer(v, c);
  if (!generates(c.algorithm)) return v;
  add(v, {{"rollout.engine", "vllm", kConfig},
          {"rollout.gpu_memory_utilization", "0.6", kConfig},
          {"rollout.async_scheduling", "false", kScheduling},
          {"rollout.logprobs", "true", kSampling}});
  if (c.mode == PresetMode::colocated) {
    add(v, {{"rollout.front_end", "in_process", kInProcess},
            {"rollout.balance", "contiguous",
             "NeMo RL nemo_rl/models/generation/vllm/vllm_generation.py: shard_by_batch_size"},
            {"rollout.sleep_level", "1",
             "NeMo RL nemo_rl/models/generation/vllm/vllm_worker.py: sleep(level=1)"}});
  } else {
    add(v, {{"rollout.front_end", "apart",
             "NeMo RL nemo_rl/models/generation/vllm/vllm_worker_async.py: AsyncLLM.from_engine_args, whose "
             "engine core is another process; no HTTP on the way"},
            {"rollout.balance", "round_robin",
             "NeMo RL nemo_rl/models/generation/vllm/vllm_generation.py: the asynchronous engines in turn"}});
  }
  if (c.mode == PresetMode::async) {
    add(v,
        {{"schedule.async.queue", "nemo-rl", kAsync},
         {"schedule.async.max_staleness", "1", kAsync},
         {"schedule.async.sync_every", "1", kAsync},
         {"schedule.async.partial_rollout", "false",
          "NeMo RL docs/guides/async-grpo.md: without in-flight updates a refit waits for what is generated"},
         {"schedule.async.in_flight_updates", "false", kAsync}});
  }
  return v;
}

}  // namespace rollcast
