// slime: flags of train.py and train_async.py, with Megatron's and SGLang's among them (--sglang-...). Names
// and defaults: slime/utils/arguments.py of THUDM/slime, 2025 and 2026.
#include <fmt/format.h>

#include <algorithm>

#include "scenarios/import/blocks.hpp"
#include "scenarios/import/importers.hpp"

namespace rollcast {
namespace {

bool holds_word(std::string_view text, std::string_view word) {
  return text.find(word) != std::string_view::npos;
}

void write_algorithm(Configuration& c) {
  std::string const estimator = c.text_or("advantage_estimator", "grpo");
  bool const ppo = estimator == "ppo";
  if (!ppo && estimator != "grpo")
    c.assume("algorithm.kind: grpo", fmt::format("for the estimator {}: no critic", shown(estimator)));
  c.draft.set_text("algorithm.kind", ppo ? "ppo" : "grpo");
  auto const prompts = c.whole("rollout_batch_size");
  if (!prompts)
    c.problem("rollout_batch_size", "prompts of a step are not given", "add --rollout-batch-size N");
  std::int64_t const n = c.whole_or("n_samples_per_prompt", 1);
  std::int64_t const samples = product({prompts.value_or(1), n});
  c.draft.set("algorithm.prompts", prompts.value_or(1));
  c.draft.set("algorithm.group_size", n);
  if (auto const steps = c.whole("num_steps_per_rollout")) {
    c.draft.set("algorithm.train_batch", std::max<std::int64_t>(1, samples / *steps));
  } else {
    auto const batch = c.whole("global_batch_size");
    if (!batch)
      c.assume(fmt::format("algorithm.train_batch: {}", samples), "no --global-batch-size: all of a step");
    c.draft.set("algorithm.train_batch", std::min(batch.value_or(samples), samples));
  }
  bool const kl = c.on("use_kl_loss") || c.number("kl_coef", kAnyWhole).value_or(0) > 0;
  c.draft.set_flag("algorithm.kl_reference", kl);
  c.draft.set_text("algorithm.reward", "rules");
  if (ppo) {
    if (auto const steps = c.whole("num_critic_only_steps", kFromZero); steps && *steps > 0)
      c.draft.set("algorithm.critic_warmup", *steps);
  }
  c.use({"kl_loss_coef", "kl_loss_type"});
  std::int64_t const over = c.whole("over_sampling_batch_size").value_or(prompts.value_or(1));
  double const ratio = std::max(1.0, static_cast<double>(over) / static_cast<double>(prompts.value_or(1)));
  if (c.text("dynamic_sampling_filter_path")) {
    c.draft.set("algorithm.dynamic_sampling.oversampling", ratio);
  } else if (ratio > 1) {
    c.draft.set("rollout.oversampling", ratio);
  }
  if (c.on("partial_rollout")) c.draft.set_flag("rollout.partial_rollout", true);
}

void write_machines(Configuration& c) {
  Machines const actor{"train", c.whole_or("actor_num_nodes", 1), c.whole_or("actor_num_gpus_per_node", 8)};
  c.use({"num_gpus_per_node"});
  std::int64_t const per_engine = c.whole_or("rollout_num_gpus_per_engine", 1);
  std::int64_t const dp = c.whole("sglang_dp_size").value_or(1);
  std::int64_t const pp = c.whole("sglang_pp_size").value_or(1);
  c.draft.set("rollout.parallel.tp", std::max<std::int64_t>(1, per_engine / pp));
  if (pp > 1) c.draft.set("rollout.parallel.pp", pp);
  if (c.on("sglang_enable_dp_attention") || dp > 1) c.draft.set_flag("rollout.data_parallel_attention", true);
  std::int64_t const ep =
      c.whole("sglang_ep_size").value_or(c.whole("sglang_expert_parallel_size").value_or(1));
  if (ep > 1) c.draft.set("rollout.parallel.ep", ep);
  if (c.on("colocate")) {
    c.use({"rollout_num_gpus"});
    set_cluster(c, actor);
    c.draft.set_flag("framework.optimizer_offload", true);
    c.draft.set_flag("framework.parameters_offload", true);
    c.use({"offload", "offload_train", "offload_rollout"});
    return;
  }
  auto const gpus = c.whole("rollout_num_gpus");
  if (!gpus)
    c.problem("rollout_num_gpus", "GPUs of the engines are not given",
              "add --rollout-num-gpus N, or --colocate");
  std::vector<Machines> pools = {actor, {"rollout", 1, gpus.value_or(per_engine)}};
  if (c.text("advantage_estimator") == "ppo" && c.has("critic_num_gpus_per_node")) {
    pools.push_back({"critic", c.whole("critic_num_nodes").value_or(actor.nodes),
                     c.whole("critic_num_gpus_per_node").value_or(actor.gpus_per_node)});
    c.draft.set_text("placement.critic", "critic");
  }
  set_pools(c, pools);
  c.draft.set_text("train.pool", "train");
  c.draft.set_text("rollout.pool", "rollout");
}

void write_layout(Configuration& c) {
  std::int64_t const tp = c.whole("tensor_model_parallel_size").value_or(1);
  std::int64_t const pp = c.whole("pipeline_model_parallel_size").value_or(1);
  std::int64_t const cp = c.whole("context_parallel_size").value_or(1);
  c.draft.set("train.parallel.tp", tp);
  if (pp > 1) c.draft.set("train.parallel.pp", pp);
  if (cp > 1) c.draft.set("train.parallel.cp", cp);
  if (c.text("train_backend") != "fsdp") set_expert_parallel(c, "", "", tp);
  if (auto const layers = c.whole("num_layers_per_virtual_pipeline_stage"))
    c.assume(fmt::format("train.virtual_stages: 1 in place of stages of {} layers", *layers),
             "write train.virtual_stages by hand");
  if (auto const v = c.whole("num_virtual_stages_per_pipeline_rank"); v && *v > 1)
    c.draft.set("train.virtual_stages", *v);
  if (auto const v = c.whole("decoder_first_pipeline_num_layers"))
    c.draft.set("train.first_stage_layers", *v);
  if (auto const v = c.whole("decoder_last_pipeline_num_layers")) c.draft.set("train.last_stage_layers", *v);
  if (c.on("sequence_parallel")) c.draft.set_flag("train.sequence_parallel", true);
}

void write_trainer(Configuration& c) {
  bool const fsdp = c.text("train_backend") == "fsdp";
  c.draft.set_text("train.trainer", fsdp ? "fsdp2" : "megatron");
  write_layout(c);
  if (!fsdp) c.draft.set_flag("train.distributed_optimizer", true);
  // Megatron's granularity, or the switch of the FSDP trainer.
  auto const recompute = c.text("recompute_granularity");
  c.use({"recompute_method", "recompute_num_layers"});
  c.draft.set_text("train.recompute", recompute.value_or(c.on("gradient_checkpointing") ? "full" : "none"));
  c.draft.set_flag("train.packing", true);  // sequences are always joined (thd)
  if (c.on("use_dynamic_batch_size")) {
    auto const budget = c.whole("max_tokens_per_gpu");
    if (!budget)
      c.problem("max_tokens_per_gpu", "a dynamic batch has no budget", "add --max-tokens-per-gpu N");
    c.draft.set_flag("train.dynamic_batching", true);
    c.draft.set("train.tokens_per_micro_batch", budget.value_or(1));
    c.draft.set("train.logprob_tokens_per_micro_batch",
                c.whole("log_probs_max_tokens_per_gpu").value_or(budget.value_or(1)));
    c.use({"micro_batch_size"});
  } else {
    std::int64_t const micro = c.whole_or("micro_batch_size", 1);
    c.draft.set("train.micro_batch", micro);
    c.draft.set("train.logprob_micro_batch", micro);
  }
  bool const balance = c.on("balance_data") || c.on("balance_by_flops");
  c.draft.set_text("train.balance", balance ? "karmarkar_karp" : "none");
  if (c.on("accumulate_allreduce_grads_in_fp32")) c.draft.set_text("train.gradients", "fp32");
  if (c.on("optimizer_cpu_offload") &&
      c.number("optimizer_offload_fraction", {0, 1, false}).value_or(1) > 0.5)
    c.draft.set_flag("train.offload.optimizer", true);
  if (c.has("fp8_format")) {
    c.use({"fp8_format"});
    c.draft.set_text("train.weights", "fp8");
    c.draft.set_text("train.fp8_scaling", c.text("fp8_recipe") == "blockwise" ? "block" : "tensor");
  }
  if (auto const rank = c.whole("lora_rank", kFromZero); rank && *rank > 0)
    set_adapter(c, *rank, c.list("target_modules"), false, "");
}

void write_rollout(Configuration& c) {
  c.draft.set_text("rollout.engine", "sglang");
  auto const fraction = c.number("sglang_mem_fraction_static", kShare);
  if (!fraction) c.assume("rollout.gpu_memory_utilization: 0.88", "no --sglang-mem-fraction-static");
  c.draft.set("rollout.gpu_memory_utilization", fraction.value_or(0.88));
  if (auto const v = c.whole("sglang_max_running_requests")) c.draft.set("rollout.max_num_seqs", *v);
  if (auto const v = c.whole("sglang_chunked_prefill_size", kAnyWhole)) {
    if (*v > 0) c.draft.set("rollout.max_num_batched_tokens", *v);
    c.draft.set_flag("rollout.chunked_prefill", *v > 0);
  }
  auto context = c.whole("sglang_context_length");
  if (!context) context = c.whole("rollout_max_context_len");
  if (context) c.draft.set("rollout.max_model_len", *context);
  if (c.on("sglang_disable_cuda_graph")) c.draft.set_flag("rollout.cuda_graphs", false);
  if (c.on("sglang_disable_radix_cache")) c.draft.set_flag("rollout.prefix_caching", false);
  if (c.has("sglang_speculative_algorithm")) {
    c.use({"sglang_speculative_algorithm", "sglang_speculative_eagle_topk",
           "sglang_speculative_num_draft_tokens"});
    c.draft.set("rollout.speculative.draft_tokens", c.whole_or("sglang_speculative_num_steps", 3));
    c.draft.set("rollout.speculative.acceptance", 0.8);
    c.assume("rollout.speculative.acceptance: 0.8", "the configuration cannot tell");
  }
}

void write_schedule(Configuration& c) {
  bool const fully = holds_word(c.text("rollout_function_path").value_or(""), "fully_async");
  if (!fully && !holds_word(c.entry, "train_async")) return;
  if (c.on("colocate")) c.problem("colocate", "generation runs beside training here", "drop --colocate");
  std::int64_t const interval = c.whole_or("update_weights_interval", 1);
  if (!fully && interval == 1) {
    c.draft.set_text("schedule", "one_step_off");
    return;
  }
  c.draft.set("schedule.async.max_staleness", interval);
  c.draft.set("schedule.async.sync_every", interval);
  c.draft.set_text("schedule.async.queue", "slime");
  c.draft.set_flag("schedule.async.partial_rollout", fully || c.on("partial_rollout"));
  if (fully)
    c.assume(fmt::format("schedule.async.max_staleness: {}", interval), "the rollout function sets no bound");
}

}  // namespace

bool is_slime_program(std::string_view word) {
  return word == "train.py" || word == "train_async.py" || word.ends_with("/train.py") ||
         word.ends_with("/train_async.py");
}

void import_slime(Configuration& c) {
  c.draft.set_text("framework.base", "slime");
  require_model(c, {"hf_checkpoint", "ref_load", "load"});
  c.use({"ref_load", "load"});
  if (c.text("loss_type") == "sft_loss") {
    c.problem("loss_type", "training on a data set is not imported for slime",
              "write algorithm: {kind: sft} by hand");
    return;
  }
  write_algorithm(c);
  write_machines(c);
  write_trainer(c);
  write_rollout(c);
  write_schedule(c);
  set_lengths(c,
              {c.whole("rollout_max_prompt_len").value_or(0), c.whole("rollout_max_response_len").value_or(0),
               c.whole("rollout_max_context_len").value_or(0)});
}

}  // namespace rollcast
