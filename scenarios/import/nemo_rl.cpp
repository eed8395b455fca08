// NeMo RL: a YAML configuration that may name a parent (defaults:), with overrides on a command line. Names
// and defaults: examples/configs/grpo_math_1B.yaml, dpo.yaml and sft.yaml of NVIDIA-NeMo/RL, late 2025.
#include <fmt/format.h>

#include <algorithm>

#include "scenarios/import/blocks.hpp"
#include "scenarios/import/importers.hpp"

namespace rollcast {
namespace {

bool megatron(Configuration& c) { return c.flag("policy.megatron_cfg.enabled").value_or(false); }

void write_machines(Configuration& c, bool generates) {
  Machines const all{"train", c.whole_or("cluster.num_nodes", 1), c.whole_or("cluster.gpus_per_node", 1)};
  std::string const g = "policy.generation.colocated.";
  if (!generates || c.flag(g + "enabled").value_or(true)) {
    c.use({g + "resources.num_nodes", g + "resources.gpus_per_node"});
    return set_cluster(c, all);
  }
  auto const nodes = c.whole(g + "resources.num_nodes");
  auto const gpus = c.whole(g + "resources.gpus_per_node");
  c.draft.set_text("train.pool", "train");
  c.draft.set_text("rollout.pool", "rollout");
  if (all.nodes > 1) {
    if (!nodes || *nodes >= all.nodes) {
      return c.problem(g + "resources.num_nodes", "the engines' nodes must be some of the cluster's",
                       fmt::format("write 1 to {}", all.nodes - 1));
    }
    Machines const train{"train", all.nodes - *nodes, all.gpus_per_node};
    return set_pools(c, {train, {"rollout", *nodes, all.gpus_per_node}});
  }
  if (!gpus || *gpus >= all.gpus_per_node) {
    return c.problem(g + "resources.gpus_per_node", "the engines' GPUs must be some of the node's",
                     fmt::format("write 1 to {}", all.gpus_per_node - 1));
  }
  set_pools(c, {{"train", 1, all.gpus_per_node - *gpus}, {"rollout", 1, *gpus}});
}

void write_grpo(Configuration& c) {
  c.draft.set_text("algorithm.kind", "grpo");
  std::int64_t const prompts = c.whole_or("grpo.num_prompts_per_step", 32);
  std::int64_t const n = c.whole_or("grpo.num_generations_per_prompt", 16);
  c.draft.set("algorithm.prompts", prompts);
  c.draft.set("algorithm.group_size", n);
  c.draft.set("algorithm.train_batch",
              std::min(c.whole_or("policy.train_global_batch_size", 512), product({prompts, n})));
  bool const kl = c.number_or("loss_fn.reference_policy_kl_penalty", 0.01) > 0;
  c.draft.set_flag("algorithm.kl_reference", kl && !c.on("grpo.skip_reference_policy_logprobs_calculation"));
  if (c.on("grpo.use_dynamic_sampling")) {
    c.draft.set("algorithm.dynamic_sampling.oversampling",
                std::max(1.0, c.number("grpo.batch_multiplier").value_or(1)));
    if (auto const rounds = c.whole("grpo.dynamic_sampling_max_gen_batches"))
      c.draft.set("algorithm.dynamic_sampling.most_rounds", *rounds);
  }
  if (c.on("env.reward_model.enabled")) {
    c.draft.set_text("algorithm.reward", "model");
    set_model(c, "env.reward_model.model_name", "algorithm.reward_model");
  }
  if (auto const turns = c.whole("grpo.max_rollout_turns"); turns && *turns > 1) {
    // Environments that answer once are written with many turns allowed.
    c.assume("score.environment: none",
             fmt::format("{} turns are allowed, how many are taken is not known", *turns));
  }
}

void write_schedule(Configuration& c) {
  if (!c.on("grpo.async_grpo.enabled")) return c.use({"grpo.async_grpo.max_trajectory_age_steps"});
  c.draft.set("schedule.async.max_staleness", c.whole_or("grpo.async_grpo.max_trajectory_age_steps", 1));
  c.draft.set("schedule.async.sync_every", std::int64_t{1});
  c.draft.set_text("schedule.async.queue", "nemo-rl");
  bool const in_flight = c.on("grpo.async_grpo.in_flight_weight_updates");
  c.draft.set_flag("schedule.async.in_flight_updates", in_flight);
  c.draft.set_flag("schedule.async.partial_rollout", in_flight);
}

void write_megatron(Configuration& c) {
  std::string const m = "policy.megatron_cfg.";
  std::int64_t const tp = c.whole(m + "tensor_model_parallel_size").value_or(1);
  std::int64_t const pp = c.whole(m + "pipeline_model_parallel_size").value_or(1);
  std::int64_t const cp = c.whole(m + "context_parallel_size").value_or(1);
  c.draft.set("train.parallel.tp", tp);
  if (pp > 1) c.draft.set("train.parallel.pp", pp);
  if (cp > 1) c.draft.set("train.parallel.cp", cp);
  set_expert_parallel(c, m, m, 1);
  if (auto const v = c.whole(m + "num_layers_in_first_pipeline_stage"))
    c.draft.set("train.first_stage_layers", *v);
  if (auto const v = c.whole(m + "num_layers_in_last_pipeline_stage"))
    c.draft.set("train.last_stage_layers", *v);
  if (auto const v = c.whole(m + "virtual_pipeline_model_parallel_size"); v && *v > 1)
    c.draft.set("train.virtual_stages", *v);
  c.draft.set_flag("train.sequence_parallel", c.on(m + "sequence_parallel"));
  c.draft.set_text("train.recompute", c.on(m + "activation_checkpointing") ? "full" : "none");
  std::string const d = m + "distributed_data_parallel_config.";
  if (auto const v = c.flag(m + "optimizer.use_distributed_optimizer"))
    c.draft.set_flag("train.distributed_optimizer", *v);
  if (c.on(d + "grad_reduce_in_fp32")) c.draft.set_text("train.gradients", "fp32");
  if (auto const v = c.flag(d + "overlap_grad_reduce")) c.draft.set_flag("train.overlap_gradient_reduce", *v);
  if (auto const v = c.flag(d + "overlap_param_gather"))
    c.draft.set_flag("train.overlap_parameter_gather", *v);
  if (c.on(m + "optimizer.optimizer_cpu_offload") &&
      c.number(m + "optimizer.optimizer_offload_fraction", {0, 1, false}).value_or(1) > 0.5)
    c.draft.set_flag("train.offload.optimizer", true);
  if (c.on(m + "fp8_cfg.enabled")) {
    c.draft.set_text("train.weights", "fp8");
    c.draft.set_text("train.fp8_scaling",
                     c.text(m + "fp8_cfg.fp8_recipe") == "blockwise" ? "block" : "tensor");
  }
  if (c.on(m + "peft.enabled"))
    set_adapter(c, c.whole_or(m + "peft.dim", 8), c.list(m + "peft.target_modules"), false, "");
}

void write_dtensor(Configuration& c) {
  std::string const d = "policy.dtensor_cfg.";
  c.draft.set("train.parallel.tp", c.whole_or(d + "tensor_parallel_size", 1));
  if (auto const v = c.whole(d + "context_parallel_size"); v && *v > 1) c.draft.set("train.parallel.cp", *v);
  if (auto const v = c.whole(d + "expert_parallel_size"); v && *v > 1) c.draft.set("train.parallel.ep", *v);
  if (c.on(d + "sequence_parallel")) c.draft.set_flag("train.sequence_parallel", true);
  c.draft.set_text("train.recompute", c.on(d + "activation_checkpointing") ? "full" : "none");
  if (c.on(d + "cpu_offload")) {
    c.draft.set_flag("train.offload.parameters", true);
    c.draft.set_flag("train.offload.gradients", true);
    c.draft.set_flag("train.offload.optimizer", true);
  }
  if (c.on(d + "lora_cfg.enabled")) {
    auto const targets = c.on(d + "lora_cfg.match_all_linear") ? std::vector<std::string>{"all-linear"}
                                                               : c.list(d + "lora_cfg.target_modules");
    c.use({d + "lora_cfg.target_modules"});
    set_adapter(c, c.whole_or(d + "lora_cfg.dim", 8), targets, false, "");
  }
}

void write_batches(Configuration& c, bool generates, std::int64_t longest) {
  std::int64_t const micro = c.whole_or("policy.train_micro_batch_size", 4);
  bool const dynamic = c.on("policy.dynamic_batching.enabled");
  bool const packing = !dynamic && c.on("policy.sequence_packing.enabled");
  c.draft.set_flag("train.packing", packing);
  std::int64_t const logprob = generates ? c.whole("policy.logprob_batch_size").value_or(micro) : micro;
  if (!dynamic) c.use_below("policy.dynamic_batching");
  if (!packing) c.use_below("policy.sequence_packing");
  std::string const block = dynamic ? "policy.dynamic_batching." : "policy.sequence_packing.";
  std::int64_t const train_tokens = c.whole(block + "train_mb_tokens").value_or(product({longest, micro}));
  std::int64_t const logprob_tokens =
      c.whole(block + "logprob_mb_tokens").value_or(product({longest, logprob}));
  if (dynamic) {
    c.draft.set_flag("train.dynamic_batching", true);
    c.draft.set("train.tokens_per_micro_batch", train_tokens);
    c.draft.set("train.logprob_tokens_per_micro_batch", logprob_tokens);
    return;
  }
  c.draft.set("train.micro_batch", micro);
  if (generates) c.draft.set("train.logprob_micro_batch", logprob);
  // A pack is the longest sequence by itself.
  if (packing && train_tokens != product({longest, micro}))
    c.draft.set("train.pack_tokens", std::max<std::int64_t>(1, train_tokens / micro));
}

void write_rollout(Configuration& c) {
  std::string const g = "policy.generation.";
  std::string const backend = c.text_or(g + "backend", "vllm");
  if (backend != "vllm" && backend != "sglang")
    c.problem(g + "backend", fmt::format("the engine '{}' is not simulated", shown(backend)),
              "write vllm or sglang");
  c.draft.set_text("rollout.engine", backend);
  std::string const v = g + (backend == "sglang" ? "sglang_cfg." : "vllm_cfg.");
  c.draft.set("rollout.parallel.tp", c.whole_or(v + "tensor_parallel_size", 1));
  if (auto const n = c.whole(v + "pipeline_parallel_size"); n && *n > 1)
    c.draft.set("rollout.parallel.pp", *n);
  if (auto const n = c.whole(v + "expert_parallel_size"); n && *n > 1) c.draft.set("rollout.parallel.ep", *n);
  c.draft.set("rollout.gpu_memory_utilization", c.number_or(v + "gpu_memory_utilization", 0.6, kShare));
  if (auto const n = c.whole(v + "max_model_len")) c.draft.set("rollout.max_model_len", *n);
  if (auto const n = c.whole(g + "vllm_kwargs.max_num_seqs")) c.draft.set("rollout.max_num_seqs", *n);
  if (auto const n = c.whole(g + "vllm_kwargs.max_num_batched_tokens"))
    c.draft.set("rollout.max_num_batched_tokens", *n);
  if (auto const n = c.number(g + "vllm_kwargs.kv_cache_memory_bytes"))
    c.draft.set_plain("rollout.kv_cache_bytes", fmt::format("{:.0f} B", *n));
  if (c.on(v + "enforce_eager")) c.draft.set_flag("rollout.cuda_graphs", false);
  if (c.text(v + "precision") == "fp8") c.draft.set_text("rollout.weights", "fp8");
  if (c.text(v + "kv_cache_dtype").value_or("").starts_with("fp8"))
    c.draft.set_text("rollout.kv_cache", "fp8");
}

}  // namespace

bool is_nemo_rl_program(std::string_view word) {
  std::size_t const slash = word.rfind('/');
  std::string_view const name = slash == std::string_view::npos ? word : word.substr(slash + 1);
  return name.starts_with("run_") && name.ends_with(".py");
}

void import_nemo_rl(Configuration& c) {
  c.draft.set_text("framework.base", "nemo-rl");
  require_model(c, {"policy.model_name"});
  bool const grpo = c.settings.has_below("grpo");
  bool const dpo = c.settings.has_below("dpo");
  if (!grpo && !dpo && !c.settings.has_below("sft")) {
    return c.problem("", "the configuration has no grpo, dpo or sft block",
                     "import a configuration that trains");
  }
  if (grpo) {
    write_grpo(c);
    write_schedule(c);
  } else {
    c.draft.set_text("algorithm.kind", dpo ? "dpo" : "sft");
    c.draft.set("algorithm.train_batch", c.whole_or("policy.train_global_batch_size", 128));
  }
  write_machines(c, grpo);
  bool const by_megatron = megatron(c);
  c.use({"policy.dtensor_cfg.enabled"});
  c.draft.set_text("train.trainer", by_megatron ? "megatron" : "fsdp2");
  std::int64_t const longest = c.whole_or("policy.max_total_sequence_length", 512);
  write_batches(c, grpo, longest);
  if (by_megatron) {
    write_megatron(c);
    c.use_below("policy.dtensor_cfg");
  } else {
    write_dtensor(c);
    c.use_below("policy.megatron_cfg");
  }
  if (grpo) write_rollout(c);
  std::int64_t const response = grpo ? c.whole("policy.generation.max_new_tokens").value_or(longest) : 0;
  std::int64_t const prompt = c.whole("data.max_input_seq_length").value_or(longest);
  set_lengths(c, {prompt, response, longest});
}

}  // namespace rollcast
