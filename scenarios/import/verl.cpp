// verl: hydra configurations, and overrides on a command line. Names and defaults: verl/trainer/config
// (_generated_ppo_trainer.yaml, actor, rollout, engine) and recipe/fully_async_policy/config of
// volcengine/verl, late 2025.
#include <fmt/format.h>

#include "scenarios/import/blocks.hpp"
#include "scenarios/import/importers.hpp"

namespace rollcast {
namespace {

bool holds_word(std::string_view text, std::string_view word) {
  return text.find(word) != std::string_view::npos;
}

std::string actor(std::string_view key) { return "actor_rollout_ref.actor." + std::string(key); }
std::string rollout(std::string_view key) { return "actor_rollout_ref.rollout." + std::string(key); }

// Which of its three programs.
enum class Program { colocated, one_step_off, fully_async };

Program program_of(Configuration const& c) {
  if (holds_word(c.entry, "fully_async") || c.settings.has_below("async_training"))
    return Program::fully_async;
  if (holds_word(c.entry, "one_step_off")) return Program::one_step_off;
  return Program::colocated;
}

void write_algorithm(Configuration& c, Program program) {
  std::string const estimator = c.text_or("algorithm.adv_estimator", "gae");
  bool const ppo = estimator == "gae";
  if (!ppo && estimator != "grpo")
    c.assume("algorithm.kind: grpo",
             fmt::format("for adv_estimator {}: no critic, groups of samples", shown(estimator)));
  c.draft.set_text("algorithm.kind", ppo ? "ppo" : "grpo");
  std::int64_t const n = c.whole_or(rollout("n"), 1);
  std::int64_t const mini = c.whole_or(actor("ppo_mini_batch_size"), 256);
  std::int64_t prompts = 0;
  std::int64_t batch = mini;
  if (program == Program::fully_async) {
    // A version of the policy is trained on `trigger` fetches of `require_batches` mini-batches.
    std::int64_t const trigger = c.whole_or("async_training.trigger_parameter_sync_step", 4);
    batch = product({mini, c.whole_or("async_training.require_batches", 1)});
    prompts = product({batch, trigger});
    c.draft.set("schedule.async.max_staleness", c.number_or("async_training.staleness_threshold", 0.1));
    c.draft.set("schedule.async.sync_every", std::int64_t{1});
    c.draft.set("schedule.async.parts_per_step", trigger);
    c.draft.set_text("schedule.async.queue", "verl");
    c.draft.set_flag("schedule.async.partial_rollout", c.flag_or("async_training.partial_rollout", true));
    c.use({"data.train_batch_size", "data.gen_batch_size"});
  } else {
    prompts = c.whole_or("data.train_batch_size", 1024);
    if (program == Program::one_step_off) c.draft.set_text("schedule", "one_step_off");
  }
  c.draft.set("algorithm.prompts", prompts);
  c.draft.set("algorithm.group_size", n);
  c.draft.set("algorithm.train_batch", product({std::min(batch, prompts), n}));
  if (auto const epochs = c.whole(actor("ppo_epochs")); epochs && *epochs > 1)
    c.draft.set("algorithm.epochs", *epochs);
  bool const loss = c.on(actor("use_kl_loss"));
  bool const reward = c.on("algorithm.use_kl_in_reward");
  c.draft.set_flag("algorithm.kl_reference", loss || reward);
  if (c.on("algorithm.filter_groups.enable")) {
    std::int64_t const gen = c.whole("data.gen_batch_size").value_or(prompts);
    c.draft.set("algorithm.dynamic_sampling.oversampling",
                std::max(1.0, static_cast<double>(gen) / static_cast<double>(prompts)));
    if (auto const rounds = c.whole("algorithm.filter_groups.max_num_gen_batches", kAnyWhole);
        rounds && *rounds > 0)
      c.draft.set("algorithm.dynamic_sampling.most_rounds", *rounds);
  }
}

void write_models(Configuration& c) {
  require_model(c, {"actor_rollout_ref.model.path"});
  bool const ppo = c.text("algorithm.adv_estimator").value_or("gae") == "gae";
  auto const actor_path = c.path("actor_rollout_ref.model.path");
  if (ppo && c.has("critic.model.path") && c.path("critic.model.path") != actor_path)
    set_model(c, "critic.model.path", "algorithm.critic");
  if (ppo) {
    if (auto const warmup = c.whole("trainer.critic_warmup", kFromZero); warmup && *warmup > 0)
      c.draft.set("algorithm.critic_warmup", *warmup);
  }
  bool const reward = c.on("reward_model.enable");
  c.draft.set_text("algorithm.reward", reward ? "model" : "rules");
  if (reward) set_model(c, "reward_model.model.path", "algorithm.reward_model");
  std::int64_t const rank =
      c.whole("actor_rollout_ref.model.lora_rank", kFromZero)
          .value_or(c.whole("actor_rollout_ref.model.lora.rank", kFromZero).value_or(0));
  if (rank > 0) {
    auto targets = c.list("actor_rollout_ref.model.target_modules");
    if (targets.empty()) targets = c.list("actor_rollout_ref.model.lora.target_modules");
    // Its engines take the adapter alone.
    set_adapter(c, rank, targets, false, "adapter");
  }
}

void write_batches(Configuration& c, std::int64_t gpus) {
  bool const dynamic = c.on(actor("use_dynamic_bsz"));
  if (dynamic) {
    c.draft.set_flag("train.dynamic_batching", true);
    std::int64_t const budget = c.whole_or(actor("ppo_max_token_len_per_gpu"), 16384);
    c.draft.set("train.tokens_per_micro_batch", budget);
    auto logprob = c.whole(rollout("log_prob_max_token_len_per_gpu"));
    if (!logprob) logprob = c.whole("actor_rollout_ref.ref.log_prob_max_token_len_per_gpu");
    c.draft.set("train.logprob_tokens_per_micro_batch", logprob.value_or(budget));
    c.use({actor("ppo_micro_batch_size_per_gpu"), rollout("log_prob_micro_batch_size_per_gpu"),
           "actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu", rollout("log_prob_use_dynamic_bsz"),
           "actor_rollout_ref.ref.log_prob_use_dynamic_bsz",
           "actor_rollout_ref.ref.log_prob_max_token_len_per_gpu"});
    return;
  }
  auto const per_gpu = [&](std::string const& base) -> std::optional<std::int64_t> {
    if (auto const v = c.whole(base + "_per_gpu")) return v;
    // The older key counts over all GPUs.
    if (auto const all = c.whole(base))
      return std::max<std::int64_t>(1, *all / std::max<std::int64_t>(1, gpus));
    return {};
  };
  auto const train = per_gpu(actor("ppo_micro_batch_size"));
  if (!train) c.assume("train.micro_batch: 1", "neither a micro-batch nor use_dynamic_bsz is given");
  c.draft.set("train.micro_batch", train.value_or(1));
  auto logprob = per_gpu(rollout("log_prob_micro_batch_size"));
  auto const reference = per_gpu("actor_rollout_ref.ref.log_prob_micro_batch_size");
  if (!logprob) logprob = reference;
  c.draft.set("train.logprob_micro_batch", logprob.value_or(train.value_or(1)));
}

void write_megatron(Configuration& c) {
  std::string const m = actor("megatron.");
  std::int64_t const tp = c.whole_or(m + "tensor_model_parallel_size", 1);
  std::int64_t const pp = c.whole_or(m + "pipeline_model_parallel_size", 1);
  std::int64_t const cp = c.whole(m + "context_parallel_size").value_or(1);
  c.draft.set("train.parallel.tp", tp);
  c.draft.set("train.parallel.pp", pp);
  if (cp > 1) c.draft.set("train.parallel.cp", cp);
  if (auto const v = c.whole(m + "virtual_pipeline_model_parallel_size"); v && *v > 1)
    c.draft.set("train.virtual_stages", *v);
  std::string const t = m + "override_transformer_config.";
  set_expert_parallel(c, m, t, tp);
  if (auto const v = c.whole(t + "num_layers_in_first_pipeline_stage"))
    c.draft.set("train.first_stage_layers", *v);
  if (auto const v = c.whole(t + "num_layers_in_last_pipeline_stage"))
    c.draft.set("train.last_stage_layers", *v);
  c.draft.set_flag("train.packing", true);
  c.draft.set_flag("train.sequence_parallel", c.flag_or(m + "sequence_parallel", true));
  c.draft.set_flag("train.distributed_optimizer", c.flag_or(m + "use_distributed_optimizer", true));
  auto const recompute = c.text(t + "recompute_granularity");
  c.use({t + "recompute_method", t + "recompute_num_layers", "actor_rollout_ref.model.use_remove_padding",
         "actor_rollout_ref.model.enable_gradient_checkpointing"});
  c.draft.set_text("train.recompute", recompute.value_or("none"));
  c.draft.set_flag("framework.parameters_offload", c.on(m + "param_offload"));
  c.draft.set_flag("framework.optimizer_offload", c.on(m + "optimizer_offload"));
  c.use({m + "grad_offload"});
  c.draft.set_flag("framework.reference_on_host", c.on("actor_rollout_ref.ref.megatron.param_offload"));
  std::string const o = actor("optim.override_optimizer_config.");
  if (c.on(o + "optimizer_cpu_offload") &&
      c.number(o + "optimizer_offload_fraction", {0, 1, false}).value_or(1) > 0.5)
    c.draft.set_flag("train.offload.optimizer", true);
}

void write_fsdp(Configuration& c, std::string const& strategy) {
  if (strategy != "fsdp" && strategy != "fsdp2")
    c.assume("train.trainer: fsdp2", fmt::format("for the strategy {}", shown(strategy)));
  if (auto const sp = c.whole(actor("ulysses_sequence_parallel_size")); sp && *sp > 1) {
    c.draft.set("train.parallel.cp", *sp);
    c.draft.set_text("train.context_parallel", "ulysses");
  }
  std::string const f = actor("fsdp_config.");
  if (auto const size = c.whole(f + "fsdp_size", kAnyWhole); size && *size > 0)
    c.draft.set("train.shard_ranks", *size);
  c.draft.set_flag("train.packing", c.flag_or("actor_rollout_ref.model.use_remove_padding", false));
  c.draft.set_text("train.recompute", c.flag_or("actor_rollout_ref.model.enable_gradient_checkpointing", true)
                                          ? "full"
                                          : "none");
  if (c.on(f + "offload_policy")) {
    c.draft.set_flag("train.offload.parameters", true);
    c.draft.set_flag("train.offload.optimizer", true);
  }
  c.draft.set_flag("framework.parameters_offload", c.flag_or(f + "param_offload", false));
  c.draft.set_flag("framework.optimizer_offload", c.flag_or(f + "optimizer_offload", false));
  c.draft.set_flag("framework.reference_on_host",
                   c.flag_or("actor_rollout_ref.ref.fsdp_config.param_offload", false));
}

void write_trainer(Configuration& c, std::int64_t gpus) {
  auto strategy = c.text(actor("strategy"));
  auto const name = c.text("config_name");
  if (!strategy && (holds_word(name.value_or(""), "megatron") || c.settings.has_below(actor("megatron"))))
    strategy = "megatron";
  if (!strategy) {
    strategy = "fsdp";
    c.assume("actor_rollout_ref.actor.strategy = fsdp", "");
  }
  bool const megatron = *strategy == "megatron";
  c.draft.set_text("train.trainer", megatron ? "megatron" : "fsdp2");
  if (megatron) {
    write_megatron(c);
  } else {
    write_fsdp(c, *strategy);
  }
  write_batches(c, gpus);
  c.draft.set_text("train.balance", c.flag_or("trainer.balance_batch", true) ? "karmarkar_karp" : "none");
  if (c.on("actor_rollout_ref.model.use_fused_kernels") || c.on(actor("use_fused_kernels")))
    c.draft.set_text("train.cross_entropy", "linear");
  if (c.on("actor_rollout_ref.model.use_liger")) c.draft.set_text("train.kernels", "fused");
}

void write_rollout(Configuration& c) {
  auto engine = c.text(rollout("name"));
  if (!engine) c.assume("rollout.engine: vllm", "the configuration names no engine");
  if (engine && *engine != "vllm" && *engine != "sglang" && *engine != "trtllm" && *engine != "hf")
    c.problem(rollout("name"), fmt::format("there is no engine '{}'", shown(*engine)),
              "write vllm, sglang, trtllm or hf");
  c.draft.set_text("rollout.engine", engine.value_or("vllm"));
  c.draft.set("rollout.parallel.tp", c.whole_or(rollout("tensor_model_parallel_size"), 2));
  if (auto const v = c.whole(rollout("pipeline_model_parallel_size")); v && *v > 1)
    c.draft.set("rollout.parallel.pp", *v);
  if (auto const v = c.whole(rollout("expert_parallel_size")); v && *v > 1)
    c.draft.set("rollout.parallel.ep", *v);
  c.draft.set("rollout.gpu_memory_utilization", c.number_or(rollout("gpu_memory_utilization"), 0.5, kShare));
  if (auto const v = c.whole(rollout("max_num_seqs"))) c.draft.set("rollout.max_num_seqs", *v);
  if (auto const v = c.whole(rollout("max_num_batched_tokens")))
    c.draft.set("rollout.max_num_batched_tokens", *v);
  if (auto const v = c.whole(rollout("max_model_len"))) c.draft.set("rollout.max_model_len", *v);
  if (auto const v = c.flag(rollout("enforce_eager"))) c.draft.set_flag("rollout.cuda_graphs", !*v);
  if (auto const v = c.flag(rollout("enable_chunked_prefill")))
    c.draft.set_flag("rollout.chunked_prefill", *v);
  if (auto const v = c.flag(rollout("enable_prefix_caching"))) c.draft.set_flag("rollout.prefix_caching", *v);
  if (auto const v = c.flag(rollout("calculate_log_probs"))) c.draft.set_flag("rollout.logprobs", *v);
  if (auto const v = c.number(rollout("over_sample_rate"), {0, 0.99, false}); v && *v > 0)
    c.draft.set("rollout.oversampling", 1 / (1 - *v));
  if (c.text(rollout("quantization")) == "fp8") c.draft.set_text("rollout.weights", "fp8");
  if (c.on(rollout("multi_turn.enable"))) {
    set_environment(c, c.whole(rollout("multi_turn.max_assistant_turns")).value_or(3),
                    c.whole(rollout("multi_turn.max_tool_response_length")).value_or(256));
  }
}

void write_score(Configuration& c) {
  if (!c.text("reward_model.sandbox_fusion.url")) return;
  c.draft.set("score.sandbox.workers", c.whole_or("reward_model.sandbox_fusion.max_concurrent", 64));
  c.draft.set_plain("score.sandbox.seconds.mean", "1 s");
  c.draft.set_plain("score.sandbox.seconds.p95", "3 s");
  c.assume("score.sandbox.seconds: mean 1 s, p95 3 s", "the configuration cannot tell");
}

void import_sft(Configuration& c) {
  c.draft.set_text("algorithm.kind", "sft");
  require_model(c, {"model.partial_pretrain", "model.path"});
  Machines m{"train", launched_nodes(c), launched_gpus(c)};
  set_cluster(c, m);
  c.draft.set("algorithm.train_batch", c.whole_or("data.train_batch_size", 256));
  c.draft.set_text("train.trainer", "fsdp2");
  c.draft.set("train.micro_batch", c.whole_or("data.micro_batch_size_per_gpu", 4));
  if (auto const sp = c.whole("ulysses_sequence_parallel_size"); sp && *sp > 1) {
    c.draft.set("train.parallel.cp", *sp);
    c.draft.set_text("train.context_parallel", "ulysses");
  }
  c.draft.set_flag("train.packing", c.flag_or("use_remove_padding", false));
  c.draft.set_text("train.recompute",
                   c.flag_or("model.enable_gradient_checkpointing", true) ? "full" : "none");
  if (c.on("model.fsdp_config.cpu_offload") || c.on("model.fsdp_config.offload_params")) {
    c.draft.set_flag("train.offload.parameters", true);
    c.draft.set_flag("train.offload.optimizer", true);
  }
  if (c.on("model.use_liger")) c.draft.set_text("train.kernels", "fused");
  if (auto const rank = c.whole("model.lora_rank", kFromZero); rank && *rank > 0)
    set_adapter(c, *rank, c.list("model.target_modules"), false, "");
  set_lengths(c, {0, 0, c.whole_or("data.max_length", 1024)});
}

}  // namespace

bool is_verl_program(std::string_view word) {
  return word.starts_with("verl.trainer.") || holds_word(word, "main_ppo") ||
         holds_word(word, "fully_async_main") || holds_word(word, "main_dapo") ||
         holds_word(word, "sft_trainer") || holds_word(word, "verl/trainer/") ||
         (word.starts_with("recipe.") && holds_word(word, "main"));
}

void import_verl(Configuration& c) {
  c.draft.set_text("framework.base", "verl");
  if (holds_word(c.entry, "sft")) return import_sft(c);
  Program const program = program_of(c);
  write_models(c);
  write_algorithm(c, program);
  Machines const train{"train", c.whole_or("trainer.nnodes", 1), c.whole_or("trainer.n_gpus_per_node", 8)};
  bool const hybrid = c.flag("actor_rollout_ref.hybrid_engine").value_or(true);
  if (program == Program::colocated && hybrid) {
    set_cluster(c, train);
  } else {
    set_pools(
        c, {train, {"rollout", c.whole_or("rollout.nnodes", 1), c.whole_or("rollout.n_gpus_per_node", 8)}});
    c.draft.set_text("train.pool", "train");
    c.draft.set_text("rollout.pool", "rollout");
  }
  write_trainer(c, train.gpus());
  write_rollout(c);
  write_score(c);
  set_lengths(c, {c.whole_or("data.max_prompt_length", 512), c.whole_or("data.max_response_length", 512), 0});
}

}  // namespace rollcast
