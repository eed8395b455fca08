// OpenRLHF: Ray actors with DeepSpeed and vLLM. On the same GPUs as its script for the hybrid engine runs it;
// on GPUs of its own as the command line defaults.
#include "scenarios/presets/tables.hpp"

namespace rollcast {
namespace {

constexpr std::string_view kScript = "OpenRLHF examples/scripts/train_ppo_ray_hybrid_engine.sh@17b714b5";
constexpr std::string_view kCli = "OpenRLHF openrlhf/cli/train_ppo_ray.py@021d1b09";
constexpr std::string_view kDpo = "OpenRLHF openrlhf/cli/train_dpo.py@006cd708";
constexpr std::string_view kSft = "OpenRLHF openrlhf/cli/train_sft.py@006cd708";
constexpr std::string_view kThreads =
    "Ray python/ray/_private/utils.py set_omp_num_threads_if_unset: as many as the CPUs of an actor, which "
    "OpenRLHF openrlhf/trainer/ray/launcher.py gives one (num_cpus = num_gpus_per_actor)";
constexpr std::string_view kLoop =
    "OpenRLHF openrlhf/trainer/ppo_trainer.py and ppo_utils/experience_maker.py: rollout, engines asleep, "
    "rewards, "
    "log-probabilities, values, reference, critic, actor, then the engines' weights wake for the broadcast "
    "and their "
    "KV before the next rollout";
constexpr std::string_view kApart =
    "OpenRLHF openrlhf/trainer/ppo_trainer.py: as with one set of GPUs; sleep needs --colocate_all_models";
constexpr std::string_view kSleepStates =
    "OpenRLHF openrlhf/utils/deepspeed/deepspeed_utils.py offload_deepspeed_states: optimizer states, "
    "masters and "
    "gradients leave, the bf16 weights stay";
constexpr std::string_view kNoSleep =
    "OpenRLHF openrlhf/cli/train_ppo_ray.py: --deepspeed_enable_sleep is for --colocate_all_models";
constexpr std::string_view kUnbalanced =
    "OpenRLHF openrlhf/utils/seqlen_balancing.py serves --use_dynamic_batch only";
constexpr std::string_view kQueue =
    "OpenRLHF openrlhf/cli/train_ppo_ray.py: --async_queue_size 1; the rule nearest to its queue, which "
    "takes one "
    "batch ahead";
constexpr std::string_view kLock =
    "OpenRLHF openrlhf/trainer/ppo_trainer_async.py: a broadcast waits until no engine generates";

void add_controller(std::vector<PresetValue>& v, PresetCase const& c) {
  bool const ppo = c.algorithm == AlgorithmKind::ppo;
  bool const colocated = c.mode == PresetMode::colocated;
  if (colocated) {
    add(v, {{"framework.order",
             ppo ? "[generate, sleep, score, old_logprob, values, reference, advantage, update_critic, "
                   "update_actor, "
                   "weight_sync, wake]"
                 : "[generate, sleep, score, old_logprob, reference, advantage, update_actor, weight_sync, "
                   "wake]",
             kLoop},
            kVllmSleep,
            kVllmWake,
            {"framework.engine_first", "true",
             "OpenRLHF openrlhf/cli/train_ppo_ray.py@021d1b09: create_vllm_engines before the models"},
            {"framework.wake_by_tags", "false",
             "OpenRLHF openrlhf/trainer/ppo_trainer.py broadcast_to_vllm: wake_up without tags, broadcast, "
             "sleep"}});
  } else {
    add(v,
        {{"framework.order",
          ppo ? "[generate, score, old_logprob, values, reference, advantage, update_critic, update_actor, "
                "weight_sync]"
              : "[generate, score, old_logprob, reference, advantage, update_actor, weight_sync]",
          kApart}});
  }
  add(v, {{"framework.driver_per_step", "0.24 s",
           "assumed: as verl's, which is one controller over Ray as well"},
          {"framework.dispatch_per_phase", "0.58 s",
           "assumed: as verl's (issue 2847); both send samples through Ray's object store"},
          {"framework.sync_per_tensor", "1.9 ms", kSyncByCall},
          {"framework.reference_on_host", "false",
           "OpenRLHF openrlhf/cli/train_ppo_ray.py: --ref_reward_offload off"},
          {"framework.optimizer_offload", colocated ? "true" : "false", colocated ? kSleepStates : kNoSleep},
          {"framework.parameters_offload", "false", colocated ? kSleepStates : kNoSleep},
          {"algorithm.kl_reference", "true", "OpenRLHF openrlhf/cli/train_ppo_ray.py: --init_kl_coef 0.01"},
          {"framework.load_copies", "2",
           "DeepSpeed runtime/zero/stage_1_and_2.py: the tensors move to the CPU, where the flat buffer is "
           "built"},
          kRayMemory});
}

void add_online_trainer(std::vector<PresetValue>& v, PresetCase const& c) {
  if (c.mode == PresetMode::colocated) {
    add(v,
        {{"train.zero_stage", "3", kScript},
         {"train.dynamic_batching", "true", kScript},
         {"train.tokens_per_micro_batch", "16384", kScript},
         {"train.logprob_tokens_per_micro_batch", "16384",
          "OpenRLHF openrlhf/cli/train_ppo_ray.py: --rollout_max_tokens_per_gpu defaults to the training's"},
         {"train.balance", "karmarkar_karp",
          "OpenRLHF openrlhf/utils/seqlen_balancing.py, with --use_dynamic_batch"},
         {"train.recompute", "full", kScript},
         {"train.overlap_gradient_reduce", "true", kDeepspeedOverlap}});
  } else {
    add(v, {{"train.zero_stage", "2", kCli},
            {"train.micro_batch", "4", kCli},
            {"train.logprob_micro_batch", "8", kCli},
            {"train.packing", "false", kCli},
            {"train.balance", "none", kUnbalanced},
            {"train.recompute", "none", kCli},
            {"train.overlap_gradient_reduce", "false", kDeepspeedOverlap}});
  }
}

void add_offline_trainer(std::vector<PresetValue>& v, PresetCase const& c) {
  std::string_view const cli = c.algorithm == AlgorithmKind::dpo ? kDpo : kSft;
  add(v, {{"framework.order",
           c.algorithm == AlgorithmKind::dpo ? "[reference, update_actor]" : "[update_actor]", cli},
          {"train.zero_stage", "2", cli},
          {"train.micro_batch", "8", cli},
          {"train.packing", "false", cli},
          {"train.balance", "none", kUnbalanced},
          {"train.recompute", "none", cli},
          {"train.overlap_gradient_reduce", "false", kDeepspeedOverlap}});
  if (c.algorithm == AlgorithmKind::dpo)
    add(v,
        {{"train.logprob_micro_batch", "8", cli},
         {"framework.reference_on_host", "false", "OpenRLHF openrlhf/cli/train_dpo.py: --ref_offload off"}});
}

void add_rollout(std::vector<PresetValue>& v, PresetCase const& c) {
  bool const colocated = c.mode == PresetMode::colocated;
  std::string_view const from = colocated ? kScript : kCli;
  add(v, {{"rollout.engine", "vllm", kCli},
          {"rollout.parallel.tp", colocated ? "2" : "1", from},
          {"rollout.gpu_memory_utilization", colocated ? "0.5" : "0.95", from},
          {"rollout.cuda_graphs", colocated ? "false" : "true", from},
          {"rollout.prefix_caching", "false", kCli},
          {"rollout.logprobs", colocated ? "true" : "false", from},
          {"rollout.balance", "least_load",
           "OpenRLHF openrlhf/trainer/ppo_utils/samples_generator.py: a heap over the engines' unfinished "
           "requests"},
          {"score.overlap", "true",
           "OpenRLHF openrlhf/trainer/ray/rollout_worker.py: each sample is scored when it is complete"}});
  if (colocated)
    add(v, {{"rollout.sleep_level", "1", "OpenRLHF openrlhf/trainer/ray/vllm_engine.py: sleep(level=1)"}});
  if (c.mode != PresetMode::async) return;
  add(v, {{"schedule.async.queue", "slime", kQueue},
          {"schedule.async.max_staleness", "1", kQueue},
          {"schedule.async.sync_every", "1", kLock},
          {"schedule.async.partial_rollout", "false", kLock},
          {"schedule.async.in_flight_updates", "false", kLock}});
}

}  // namespace

std::vector<PresetValue> openrlhf_preset(PresetCase const& c) {
  std::vector<PresetValue> v;
  bool const online = generates(c.algorithm);
  if (online) add_controller(v, c);
  add(v, {{"train.trainer", "deepspeed", "OpenRLHF openrlhf/utils/deepspeed: its only trainer"}});
  if (c.trainer == TrainerKind::deepspeed) {
    if (online) add_online_trainer(v, c);
    if (online) add(v, {{"train.host_threads", "1", kThreads}});
    if (!online) add_offline_trainer(v, c);
    add(v, {{"train.gradients", "bf16", kDeepspeedGradients},
            kDeepspeedBucket,
            {"train.pinned_gradients", "true",
             "OpenRLHF openrlhf/utils/deepspeed/deepspeed_utils.py: offload_optimizer pin_memory"},
            {"train.cross_entropy", "whole",
             "OpenRLHF openrlhf/models/actor.py: logits are cast to float32 before the log-probabilities"},
            {"train.kernels", "eager", kHfKernels},
            kHfAttention});
  }
  if (online) add_rollout(v, c);
  add(v, {{"watchdog.timeout", "1800 s", "deepspeed/constants.py: default_pg_timeout 30 min"}});
  return v;
}

}  // namespace rollcast
