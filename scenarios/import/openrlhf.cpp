// OpenRLHF: flags of openrlhf.cli.train_ppo_ray, train_sft and train_dpo. Names and defaults:
// openrlhf/cli of OpenRLHF/OpenRLHF, 2025.
#include <fmt/format.h>

#include "scenarios/import/blocks.hpp"
#include "scenarios/import/importers.hpp"

namespace rollcast {
namespace {

bool holds_word(std::string_view text, std::string_view word) {
  return text.find(word) != std::string_view::npos;
}

void write_trainer(Configuration& c) {
  bool const fsdp2 = c.settings.has_below("fsdp2_enable_sleep") || c.text("dist_backend") == "fsdp2" ||
                     c.text("backend") == "fsdp2";
  c.draft.set_text("train.trainer", fsdp2 ? "fsdp2" : "deepspeed");
  if (!fsdp2) c.draft.set("train.zero_stage", c.whole_or("zero_stage", 2, {0, 3, false}));
  for (char const* key : {"ds_tensor_parallel_size", "fsdp2_tp_size"}) {
    if (auto const tp = c.whole(key); tp && *tp > 1) c.draft.set("train.parallel.tp", *tp);
  }
  if (auto const cp = c.whole("ring_attn_size"); cp && *cp > 1) {
    c.draft.set("train.parallel.cp", *cp);
    c.draft.set_text("train.context_parallel", "ring");
  }
  c.draft.set_text("train.recompute", c.on("gradient_checkpointing") ? "full" : "none");
  if (c.on("adam_offload")) c.draft.set_flag("train.offload.optimizer", true);
  if (c.text("grad_accum_dtype") == "fp32") c.draft.set_text("train.gradients", "fp32");
  if (auto const type = c.text("param_dtype"); type && *type != "bf16")
    c.draft.set_text("train.weights", *type);
  c.use({"bf16"});
  if (c.on("overlap_comm")) c.draft.set_flag("train.overlap_gradient_reduce", true);
  if (c.on("use_liger_kernel")) c.draft.set_text("train.kernels", "fused");
  std::int64_t const rank = c.whole("lora_rank", kFromZero).value_or(0);
  bool const four_bit = c.on("load_in_4bit");
  if (rank > 0) set_adapter(c, rank, c.list("target_modules"), four_bit, "");
}

// sft and dpo: one program over the GPUs of the launcher.
void import_offline(Configuration& c, bool dpo) {
  c.draft.set_text("algorithm.kind", dpo ? "dpo" : "sft");
  require_model(c, {"pretrain"});
  std::int64_t const nodes = launched_nodes(c);
  set_cluster(c, {"train", nodes, launched_gpus(c)});
  c.draft.set("algorithm.train_batch", c.whole_or("train_batch_size", 128));
  if (c.has("max_epochs")) c.use({"max_epochs"});  // over the data set, not over a step
  write_trainer(c);
  c.draft.set("train.micro_batch", c.whole_or("micro_train_batch_size", 8));
  c.draft.set_flag("train.packing", c.on("packing_samples"));
  if (dpo && c.on("ref_offload")) c.draft.set_flag("framework.reference_on_host", true);
  set_lengths(c, {0, 0, c.whole_or("max_len", dpo ? 512 : 2048)});
}

bool is_ppo(Configuration& c) { return c.text("advantage_estimator").value_or("gae") == "gae"; }

void write_algorithm(Configuration& c) {
  std::string const estimator = c.text_or("advantage_estimator", "gae");
  bool const ppo = estimator == "gae";
  if (!ppo && estimator != "group_norm" && estimator != "dr_grpo")
    c.assume("algorithm.kind: grpo",
             fmt::format("for the estimator {}: no critic, samples in groups", shown(estimator)));
  c.draft.set_text("algorithm.kind", ppo ? "ppo" : "grpo");
  std::int64_t const prompts = c.whole_or("rollout_batch_size", 1024);
  std::int64_t const n = c.whole_or("n_samples_per_prompt", 1);
  c.draft.set("algorithm.prompts", prompts);
  c.draft.set("algorithm.group_size", n);
  c.draft.set("algorithm.train_batch", std::min(c.whole_or("train_batch_size", 128), product({prompts, n})));
  if (auto const epochs = c.whole("max_epochs"); epochs && *epochs > 1)
    c.draft.set("algorithm.epochs", *epochs);
  bool const kl = c.number_or("init_kl_coef", 0.01, kAnyWhole) > 0;
  c.use({"use_kl_loss"});
  c.draft.set_flag("algorithm.kl_reference", kl);
  if (c.on("dynamic_filtering")) {
    std::int64_t const generated = c.whole("vllm_generate_batch_size").value_or(prompts);
    c.draft.set("algorithm.dynamic_sampling.oversampling",
                std::max(1.0, static_cast<double>(generated) / static_cast<double>(prompts)));
  }
  if (ppo) {
    if (auto const steps = c.whole("freezing_actor_steps", kAnyWhole); steps && *steps > 0)
      c.draft.set("algorithm.critic_warmup", *steps);
  }
}

// Whether a model on GPUs scores, rather than a function or a server elsewhere.
bool has_reward_model(Configuration& c) {
  bool const elsewhere = c.has("remote_rm_url") || c.has("agent_func_path");
  c.use({"remote_rm_url", "agent_func_path"});
  if (c.has("agent_func_path"))
    c.assume("workload: one turn", "what the agent of agent_func_path does is not known");
  return !elsewhere && c.has("reward_pretrain");
}

void write_models(Configuration& c, bool reward) {
  require_model(c, {"pretrain"});
  c.draft.set_text("algorithm.reward", reward ? "model" : "rules");
  if (reward) set_model(c, "reward_pretrain", "algorithm.reward_model");
  if (!is_ppo(c)) return;
  if (c.has("critic_pretrain")) {
    set_model(c, "critic_pretrain", "algorithm.critic");
  } else if (reward) {
    // The critic starts from the reward model.
    set_model(c, "reward_pretrain", "algorithm.critic");
  }
}

Machines machines_of(Configuration& c, std::string const& role, std::string const& pool) {
  return {pool, c.whole_or(role + "_num_nodes", 1), c.whole_or(role + "_num_gpus_per_node", 8)};
}

void write_machines(Configuration& c, bool reward) {
  bool const all = c.on("colocate_all_models");
  bool const async = c.on("async_train");
  Machines const actor = machines_of(c, "actor", "train");
  std::int64_t const tp = c.whole_or("vllm_tensor_parallel_size", 1);
  auto const engines = c.whole("vllm_num_engines");
  if (!engines) c.assume("rollout: engines on every GPU", "--vllm_num_engines is not given");
  c.draft.set("rollout.parallel.tp", tp);
  bool const reference = c.number("init_kl_coef", kAnyWhole).value_or(0.01) > 0;
  if (all && !async) {
    for (char const* role : {"ref", "critic", "reward"})
      c.use({std::string(role) + "_num_nodes", std::string(role) + "_num_gpus_per_node"});
    set_cluster(c, actor);
    return;
  }
  std::vector<Machines> pools = {
      actor, {"rollout", 1, product({engines.value_or(std::max<std::int64_t>(1, actor.gpus() / tp)), tp})}};
  c.draft.set_text("train.pool", "train");
  c.draft.set_text("rollout.pool", "rollout");
  bool const with_actor = all || c.on("colocate_actor_ref");
  bool const with_critic = c.on("colocate_critic_reward");
  if (reference && with_actor) {
    c.use({"ref_num_nodes", "ref_num_gpus_per_node"});
  } else if (reference) {
    pools.push_back(machines_of(c, "ref", "reference"));
    c.draft.set_text("placement.reference", "reference");
  }
  if (is_ppo(c) && !all) {
    pools.push_back(machines_of(c, "critic", "critic"));
    c.draft.set_text("placement.critic", "critic");
  }
  if (reward && !all) {
    if (with_critic && is_ppo(c)) {
      c.use({"reward_num_nodes", "reward_num_gpus_per_node"});
      c.draft.set_text("placement.reward", "critic");
    } else {
      pools.push_back(machines_of(c, "reward", "reward"));
      c.draft.set_text("placement.reward", "reward");
    }
  }
  set_pools(c, pools);
}

void write_batches(Configuration& c) {
  bool const dynamic = c.on("use_dynamic_batch");
  c.draft.set_flag("train.packing", c.on("packing_samples") || dynamic);
  if (dynamic) {
    std::int64_t const train = c.whole_or("train_max_tokens_per_gpu", 16192);
    c.draft.set_flag("train.dynamic_batching", true);
    c.draft.set("train.tokens_per_micro_batch", train);
    c.draft.set("train.logprob_tokens_per_micro_batch",
                c.whole("rollout_max_tokens_per_gpu").value_or(train));
    c.draft.set_text("train.balance", "karmarkar_karp");
    c.use({"micro_train_batch_size", "micro_rollout_batch_size"});
  } else {
    c.draft.set("train.micro_batch", c.whole_or("micro_train_batch_size", 4));
    c.draft.set("train.logprob_micro_batch", c.whole_or("micro_rollout_batch_size", 8));
  }
}

void write_rollout(Configuration& c) {
  c.draft.set_text("rollout.engine", "vllm");
  c.draft.set("rollout.gpu_memory_utilization", c.number_or("vllm_gpu_memory_utilization", 0.95, kShare));
  c.draft.set_flag("rollout.cuda_graphs", !c.on("enforce_eager"));
  c.draft.set_flag("rollout.prefix_caching", c.on("enable_prefix_caching"));
  if (c.on("enable_vllm_is_correction")) c.draft.set_flag("rollout.logprobs", true);
  bool const sleep = c.on("deepspeed_enable_sleep") || c.on("fsdp2_enable_sleep");
  c.draft.set_flag("framework.optimizer_offload", sleep);
  c.draft.set_flag("framework.parameters_offload", sleep);
  c.draft.set_flag("framework.reference_on_host", c.on("ref_reward_offload"));
  if (c.on("colocate_all_models") && !c.on("async_train") && !c.on("vllm_enable_sleep"))
    c.assume("rollout: engines that sleep while training", "--vllm_enable_sleep is not given");
}

void write_schedule(Configuration& c) {
  if (!c.on("async_train")) return;
  std::int64_t const queue = c.whole_or("async_queue_size", 1);
  bool const partial = c.on("partial_rollout");
  if (queue == 1 && !partial) {
    c.draft.set_text("schedule", "one_step_off");
    c.assume("schedule: one_step_off", "a queue of one batch keeps generation one step ahead");
    return;
  }
  c.draft.set("schedule.async.max_staleness", queue);
  c.draft.set("schedule.async.sync_every", std::int64_t{1});
  c.draft.set_text("schedule.async.queue", "areal");
  c.draft.set_flag("schedule.async.partial_rollout", partial);
  c.assume("schedule.async.queue: areal", fmt::format("the nearest rule to a queue of {} batches", queue));
}

}  // namespace

bool is_openrlhf_program(std::string_view word) {
  return holds_word(word, "openrlhf.cli.train_") || holds_word(word, "train_ppo_ray") ||
         holds_word(word, "train_sft.py") || holds_word(word, "train_dpo.py");
}

void import_openrlhf(Configuration& c) {
  c.draft.set_text("framework.base", "openrlhf");
  bool const dpo = holds_word(c.entry, "train_dpo");
  if (dpo || holds_word(c.entry, "train_sft")) return import_offline(c, dpo);
  if (!c.entry.empty() && !holds_word(c.entry, "train_ppo")) {
    c.problem("", fmt::format("'{}' trains in a way that is not simulated", shown(c.entry)),
              "import train_ppo_ray, train_sft or train_dpo");
    return;
  }
  write_algorithm(c);
  bool const reward = has_reward_model(c);
  write_models(c, reward);
  write_machines(c, reward);
  write_trainer(c);
  write_batches(c);
  write_rollout(c);
  write_schedule(c);
  std::int64_t const prompt = c.whole_or("prompt_max_len", 1024);
  set_lengths(c, {prompt, c.whole_or("generate_max_len", 1024), c.whole("max_len").value_or(0)});
}

}  // namespace rollcast
