// TRL: a YAML configuration (--config), or the command that launches a script of it with accelerate or the
// trl program. Names and defaults: trl/trainer/*_config.py and examples/accelerate_configs of
// huggingface/trl, 2025 and 2026; the TrainingArguments of transformers below them.
#include <fmt/format.h>

#include <algorithm>

#include "scenarios/import/blocks.hpp"
#include "scenarios/import/importers.hpp"

namespace rollcast {
namespace {

bool holds_word(std::string_view text, std::string_view word) {
  return text.find(word) != std::string_view::npos;
}

enum class Kind { grpo, dpo, sft };

Kind kind_of(Configuration& c) {
  for (auto const& [word, kind] : {std::pair{"grpo", Kind::grpo}, std::pair{"rloo", Kind::grpo},
                                   std::pair{"dpo", Kind::dpo}, std::pair{"sft", Kind::sft}}) {
    if (holds_word(c.entry, word)) return kind;
  }
  Kind kind = Kind::sft;
  std::string_view by = "no key of grpo or dpo is given";
  for (char const* key : {"num_generations", "use_vllm", "max_completion_length", "reward_funcs"}) {
    if (c.has(key)) kind = Kind::grpo, by = "by its keys";
  }
  for (char const* key :
       {"precompute_ref_log_probs", "ref_model_name_or_path", "rpo_alpha", "f_divergence_type"}) {
    if (kind != Kind::grpo && c.has(key)) kind = Kind::dpo, by = "by its keys";
  }
  char const* const name = kind == Kind::grpo ? "grpo" : kind == Kind::dpo ? "dpo" : "sft";
  c.assume(fmt::format("algorithm.kind: {}", name), by);
  return kind;
}

// Settings of accelerate's file are among those of the launcher.
std::optional<std::string> launcher_text(Configuration& c, std::string_view key) {
  Setting* const s = c.launcher.find(key);
  if (s == nullptr || s->values.empty()) return {};
  s->used = true;
  return s->values.front();
}

void write_fsdp2(Configuration& c) {
  c.draft.set_text("train.trainer", "fsdp2");
  if (launcher_text(c, "fsdp_config.fsdp_offload_params") == "true") {
    c.draft.set_flag("train.offload.parameters", true);
    c.draft.set_flag("train.offload.optimizer", true);
  }
}

void write_trainer(Configuration& c) {
  std::string const named =
      launcher_text(c, "config_file").value_or(c.text("accelerate_config").value_or(""));
  std::string const type = launcher_text(c, "distributed_type").value_or("");
  if (type == "FSDP" || (type.empty() && holds_word(named, "fsdp"))) {
    write_fsdp2(c);
  } else {
    auto stage = launcher_text(c, "deepspeed_config.zero_stage");
    if (!stage) stage = launcher_text(c, "zero_stage");
    for (char const* n : {"1", "2", "3"}) {
      if (stage || !holds_word(named, std::string("zero") + n)) continue;
      stage = n;
      c.assume(fmt::format("train.zero_stage: {}", n), fmt::format("by the name {}", shown(named)));
    }
    if (!stage && type != "MULTI_GPU" && type != "NO")
      c.assume("train.trainer: ddp", "no configuration of accelerate is known: plain data parallelism");
    if (stage == "1" || stage == "2" || stage == "3") {
      c.draft.set_text("train.trainer", "deepspeed");
      c.draft.set("train.zero_stage", std::int64_t{stage->front() - '0'});
    } else {
      c.draft.set_text("train.trainer", "ddp");
    }
    if (launcher_text(c, "deepspeed_config.offload_optimizer_device") == "cpu")
      c.draft.set_flag("train.offload.optimizer", true);
    if (launcher_text(c, "deepspeed_config.offload_param_device") == "cpu")
      c.draft.set_flag("train.offload.parameters", true);
  }
  c.draft.set_text("train.recompute", c.flag_or("gradient_checkpointing", true) ? "full" : "none");
  if (c.on("use_liger_kernel")) c.draft.set_text("train.kernels", "fused");
  if (c.on("use_liger_kernel") || c.on("use_liger_loss")) c.draft.set_text("train.cross_entropy", "linear");
  c.use({"bf16", "torch_dtype", "dtype"});
  bool const four_bit = c.on("load_in_4bit");
  if (c.on("use_peft"))
    set_adapter(c, c.whole_or("lora_r", 16), c.list("lora_target_modules"), four_bit, "merged");
}

// GPUs of the trainer on each node, from accelerate or from the configuration itself.
Machines trainer_of(Configuration& c) {
  std::int64_t const nodes = c.launcher.all().empty() ? 1 : launched_nodes(c);
  if (c.options.gpus == 0 && c.launcher.find("num_processes") == nullptr) {
    if (auto const all = c.whole("num_processes"))
      return {"train", nodes, std::max<std::int64_t>(1, *all / nodes)};
  }
  return {"train", nodes, launched_gpus(c)};
}

// The server that 'trl vllm-serve' starts: its layout, when the script holds it.
Machines server_of(Configuration& c) {
  for (Command const& command : c.commands) {
    bool serves = false;
    for (Word const& w : command.words) serves = serves || w.text == "vllm-serve" || w.text == "vllm_serve";
    if (!serves) continue;
    Settings flags;
    add_flags(command.words, 0, flags);
    auto const whole = [&](std::string_view key, std::int64_t fallback) {
      Setting const* s = flags.find(key);
      if (s == nullptr || s->values.empty()) return fallback;
      NumberText const n = parse_whole_number(Value{ValueKind::scalar, {}, s->values.front(), false, {}, {}});
      return n.ok && holds(kWholeCount, n.value) ? static_cast<std::int64_t>(n.value) : fallback;
    };
    std::int64_t const tp = whole("tensor_parallel_size", 1);
    c.draft.set("rollout.parallel.tp", tp);
    if (Setting const* s = flags.find("gpu_memory_utilization"); s != nullptr && !s->values.empty()) {
      NumberText const n = parse_number(Value{ValueKind::scalar, {}, s->values.front(), false, {}, {}});
      if (n.ok && holds(kShare, n.value)) c.draft.set("rollout.gpu_memory_utilization", n.value);
    }
    return {"rollout", 1, product({tp, whole("data_parallel_size", 1)})};
  }
  c.draft.set("rollout.parallel.tp", std::int64_t{1});
  c.assume("pools.rollout: one GPU", "the server is launched elsewhere");
  return {"rollout", 1, 1};
}

void write_rollout(Configuration& c, Machines const& train) {
  if (!c.on("use_vllm")) {
    c.draft.set_text("rollout.engine", "hf");
    c.draft.set("rollout.parallel.tp", std::int64_t{1});
    return set_cluster(c, train);
  }
  c.draft.set_text("rollout.engine", "vllm");
  auto const utilization = c.number("vllm_gpu_memory_utilization", kShare);
  // Before there were modes, vllm_device named the one GPU of the engine.
  std::string const mode = c.has("vllm_device") ? "server" : c.text_or("vllm_mode", "server");
  c.use({"vllm_device", "vllm_mode"});
  if (mode == "colocate") {
    if (!utilization) c.assume("vllm_gpu_memory_utilization = 0.3", "");
    c.draft.set("rollout.gpu_memory_utilization", utilization.value_or(0.3));
    c.draft.set("rollout.parallel.tp", c.whole_or("vllm_tensor_parallel_size", 1));
    if (!c.on("vllm_enable_sleep_mode"))
      c.assume("rollout: engines that sleep while training", "vllm_enable_sleep_mode is not given");
    return set_cluster(c, train);
  }
  if (mode != "server")
    c.problem("vllm_mode", fmt::format("there is no mode '{}'", shown(mode)), "write server or colocate");
  if (!utilization) c.assume("rollout.gpu_memory_utilization: 0.9", "vLLM's own, the server's is not known");
  c.draft.set("rollout.gpu_memory_utilization", utilization.value_or(0.9));
  Machines const server = server_of(c);
  set_pools(c, {train, server});
  c.draft.set_text("train.pool", "train");
  c.draft.set_text("rollout.pool", "rollout");
}

void import_grpo(Configuration& c) {
  c.draft.set_text("algorithm.kind", "grpo");
  Machines const train = trainer_of(c);
  std::int64_t const micro = c.whole_or("per_device_train_batch_size", 8);
  std::int64_t const accumulation = c.whole("gradient_accumulation_steps").value_or(1);
  std::int64_t const n = c.whole_or("num_generations", 8);
  std::int64_t const batch = product({micro, accumulation, train.gpus()});
  std::int64_t const samples =
      c.whole("generation_batch_size")
          .value_or(product({micro, train.gpus(), c.whole("steps_per_generation").value_or(accumulation)}));
  if (samples % n != 0) {
    c.problem(
        "num_generations",
        fmt::format("{} samples of a step ({} GPUs) are no whole number of groups", samples, train.gpus()),
        "change num_generations, or say the GPUs that train (--gpus N)");
  }
  c.draft.set("algorithm.prompts", std::max<std::int64_t>(1, samples / n));
  c.draft.set("algorithm.group_size", n);
  c.draft.set("algorithm.train_batch", std::min(batch, samples));
  if (auto const iterations = c.whole("num_iterations"); iterations && *iterations > 1)
    c.draft.set("algorithm.epochs", *iterations);
  c.draft.set_flag("algorithm.kl_reference", c.number_or("beta", 0) > 0);
  write_rollout(c, train);
  write_trainer(c);
  c.draft.set("train.micro_batch", micro);
  c.draft.set("train.logprob_micro_batch", micro);
  if (auto const v = c.whole("vllm_max_model_length")) c.draft.set("rollout.max_model_len", *v);
  set_lengths(c, {c.whole("max_prompt_length").value_or(0), c.whole_or("max_completion_length", 256), 0});
}

void import_offline(Configuration& c, bool dpo) {
  c.draft.set_text("algorithm.kind", dpo ? "dpo" : "sft");
  Machines const train = trainer_of(c);
  std::int64_t const micro = c.whole_or("per_device_train_batch_size", 8);
  std::int64_t const accumulation = c.whole("gradient_accumulation_steps").value_or(1);
  c.draft.set("algorithm.train_batch", product({micro, accumulation, train.gpus()}));
  set_cluster(c, train);
  write_trainer(c);
  c.draft.set("train.micro_batch", micro);
  c.draft.set_flag("train.packing", c.on("packing") || c.on("padding_free"));
  if (dpo && c.on("precompute_ref_log_probs")) c.draft.set_flag("algorithm.reference_precomputed", true);
  std::int64_t const longest =
      c.has("max_seq_length") ? c.whole_or("max_seq_length", 1024) : c.whole_or("max_length", 1024);
  set_lengths(c, {c.whole("max_prompt_length").value_or(0), 0, longest});
}

}  // namespace

bool is_trl_program(std::string_view word) {
  bool const script = word.ends_with(".py");
  if (word == "grpo" || word == "dpo" || word == "sft" || word == "rloo") return true;
  std::size_t const slash = word.rfind('/');
  std::string_view const name = slash == std::string_view::npos ? word : word.substr(slash + 1);
  return script || name.starts_with("trl.scripts.");
}

void import_trl(Configuration& c) {
  c.draft.set_text("framework.base", "trl");
  require_model(c, {"model_name_or_path", "model", "model_name"});
  switch (kind_of(c)) {
    case Kind::grpo:
      return import_grpo(c);
    case Kind::dpo:
      return import_offline(c, true);
    case Kind::sft:
      return import_offline(c, false);
  }
}

}  // namespace rollcast
