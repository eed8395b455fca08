#include "scenarios/text/job_fields.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rollcast {
namespace {

constexpr Range kRanks{1, 1e6, false};
constexpr Range kBatch{1, 1e9, false};
constexpr Range kTokens{0, 1e9, false};

std::vector<DType> const kDTypes = {DType::fp32, DType::bf16, DType::fp16, DType::fp8};
std::vector<Phase> const kPhases = {Phase::wake,         Phase::generate,    Phase::sleep,
                                    Phase::score,        Phase::old_logprob, Phase::reference,
                                    Phase::values,       Phase::advantage,   Phase::update_critic,
                                    Phase::update_actor, Phase::weight_sync, Phase::checkpoint};

void describe_adapter(Fields& f, Adapter& a) {
  f.choice("kind", a.kind, {AdapterKind::lora, AdapterKind::qlora},
           "qlora keeps the frozen base in 4 bits (NF4)");
  f.integer("rank", a.rank, {1, 65536, false}, "rank of the two factors");
  f.names("targets", a.targets, {"q", "k", "v", "o", "gate", "up", "down"},
          "projections that get an adapter");
  if (f.listing() || a.kind == AdapterKind::qlora) {
    f.flag("block_constants", a.block_constants, "count NF4's fp32 constant per 64 weights");
    f.flag("double_quantization", a.double_quantization, "those constants quantized in turn");
  } else {
    f.forbid("block_constants", "only qlora has quantization constants");
    f.forbid("double_quantization", "only qlora has quantization constants");
  }
}

void describe_order(Fields& f, std::vector<Phase>& order) {
  std::vector<std::string_view> allowed;
  allowed.reserve(kPhases.size());
  for (Phase p : kPhases) allowed.push_back(name_of(p));
  std::vector<std::string> names;
  names.reserve(order.size());
  for (Phase p : order) names.emplace_back(name_of(p));
  f.names("order", names, allowed, "phases of one step");
  order.clear();
  for (std::string const& n : names) {
    order.push_back(*std::find_if(kPhases.begin(), kPhases.end(), [&](Phase p) { return name_of(p) == n; }));
  }
}

}  // namespace

bool generates(AlgorithmKind k) { return k == AlgorithmKind::ppo || k == AlgorithmKind::grpo; }

void describe(Fields& f, Algorithm& a) {
  f.choice("kind", a.kind, {AlgorithmKind::sft, AlgorithmKind::dpo, AlgorithmKind::ppo, AlgorithmKind::grpo},
           "what is trained, and how");
  f.require("kind", "write kind: grpo (or sft, dpo, ppo)");
  if (f.listing() || generates(a.kind)) {
    f.integer("prompts", a.prompts, {1, 1e6, false}, "prompts per step (grpo, ppo)");
    f.require("prompts", "write for example prompts: 64");
    f.integer("group_size", a.group_size, {1, 2000, false}, "samples per prompt (grpo, ppo)");
    if (!f.has("train_batch")) a.train_batch = a.samples();
    f.integer("train_batch", a.train_batch, kBatch,
              "samples (dpo: pairs) per optimizer step; grpo, ppo: all samples of the step by default");
    f.derived("train_batch");
  } else {
    std::string const why = fmt::format("{} trains on a data set, it generates nothing", name_of(a.kind));
    f.forbid("prompts", why);
    f.forbid("group_size", why);
    f.integer("train_batch", a.train_batch, kBatch, "samples (dpo: pairs) per optimizer step");
    f.require("train_batch", "write for example train_batch: 64");
  }
  if (f.listing() || a.kind == AlgorithmKind::grpo) {
    f.flag("kl_reference", a.kl_reference,
           "a frozen reference model for the KL term (grpo; dpo and ppo always have one)");
  } else {
    bool const reference = a.kind != AlgorithmKind::sft;
    f.forbid("kl_reference", reference ? fmt::format("{} always has a reference model", name_of(a.kind))
                                       : "sft has no reference model");
    a.kl_reference = reference;
  }
  f.integer("epochs", a.epochs, {1, 1000, false}, "passes over the samples of a step");
  Adapter adapter = a.adapter.value_or(Adapter{AdapterKind::lora, 16, {"q", "v"}, true, false});
  if (f.optional_group("adapter", "train a low-rank adapter on a frozen base",
                       [&](Fields& g) { describe_adapter(g, adapter); })) {
    a.adapter = adapter;
  }
}

void describe(Fields& f, TrainerOptions& t) {
  f.choice("trainer", t.kind, {TrainerKind::megatron, TrainerKind::fsdp2, TrainerKind::deepspeed},
           "training backend");
  f.group("parallel", "how a replica is cut", [&](Fields& g) {
    g.integer("tp", t.parallel.tp, kRanks, "tensor-parallel ranks");
    g.integer("pp", t.parallel.pp, kRanks, "pipeline stages");
    g.integer("cp", t.parallel.cp, kRanks, "context-parallel ranks");
    g.integer("ep", t.parallel.ep, kRanks, "expert-parallel ranks, out of the data-parallel ones");
  });
  f.integer("micro_batch", t.micro_batch, kBatch, "sequences per micro-batch; with packing, packs");
  f.integer("logprob_micro_batch", t.logprob_micro_batch, kBatch, "the same in log-probability forwards");
  f.flag("packing", t.packing, "sequences packed together rather than padded");
  f.flag("equal_packs", t.equal_packs,
         "with pipeline parallelism, packs are padded to the longest of their batch");
  f.integer("pack_tokens", t.pack_tokens, kTokens, "tokens of one pack; 0: the longest sequence");
  f.choice("recompute", t.recompute, {Recompute::none, Recompute::selective, Recompute::full},
           "activation recomputation");
  f.flag("sequence_parallel", t.sequence_parallel, "norms and residuals cut over the tensor-parallel ranks");
  if (f.listing() || t.kind == TrainerKind::megatron) {
    f.flag("distributed_optimizer", t.distributed_optimizer,
           "optimizer states and masters cut over the data-parallel ranks (megatron)");
  } else {
    f.forbid("distributed_optimizer", "a key of megatron");
  }
  if (f.listing() || t.kind == TrainerKind::deepspeed) {
    f.integer("zero_stage", t.zero_stage, {0, 3, false},
              "ZeRO stage (deepspeed; fsdp2 cuts everything, as stage 3)");
  } else {
    f.forbid("zero_stage", "a key of deepspeed");
    t.zero_stage = t.kind == TrainerKind::fsdp2 ? 3 : 0;
  }
  f.choice("weights", t.weights, kDTypes, "type of the weights in forward and backward");
  f.choice("gradients", t.gradients, {DType::fp32, DType::bf16, DType::fp16}, "type of the gradient buffer");
  f.flag("master_weights", t.master_weights, "an fp32 copy of the weights in the optimizer");
  f.choice("optimizer_states", t.optimizer_states, kDTypes, "type of Adam's two states");
  f.flag("overlap_gradient_reduce", t.overlap_gradient_reduce, "reduce gradients during the backward pass");
  f.flag("overlap_parameter_gather", t.overlap_parameter_gather, "gather parameters during the forward pass");
  f.quantity("bucket", t.bucket, kPositive, "gradient bucket of one reduction");
  f.flag("fused_cross_entropy", t.fused_cross_entropy, "no fp32 copy of the logits");
  f.optional_group("offload", "what lives in host memory", [&](Fields& g) {
    g.flag("parameters", t.offload.parameters, "weights");
    g.flag("gradients", t.offload.gradients, "gradients");
    g.flag("optimizer", t.offload.optimizer, "optimizer states and master weights");
  });
  f.later("pool", "roles on pools of their own");
}

void describe(Fields& f, EngineOptions& e) {
  f.custom("engine", "vllm", "vllm", "rollout engine; sglang, trtllm and hf are not simulated yet",
           [&](Value const& v) {
             std::vector<std::string_view> const known = {"vllm", "sglang", "trtllm", "hf"};
             if (v.kind == ValueKind::scalar && v.text == "vllm") return;
             bool const later =
                 v.kind == ValueKind::scalar && std::find(known.begin(), known.end(), v.text) != known.end();
             std::string_view const near = nearest(v.text, known);
             f.problem(v.mark, "engine",
                       later ? fmt::format("{} is not simulated yet", v.text)
                             : fmt::format("there is no engine '{}'", shown(v.text)),
                       later || near.empty() ? "write engine: vllm" : fmt::format("did you mean {}?", near));
           });
  f.origin("engine", std::string(name_of(e.kind)));
  f.group("parallel", "how an engine is cut", [&](Fields& g) {
    g.integer("tp", e.parallel.tp, kRanks, "tensor-parallel ranks of one engine");
    g.integer("pp", e.parallel.pp, kRanks, "pipeline stages of one engine");
    g.later("ep", "expert parallelism in the engine");
  });
  f.number("gpu_memory_utilization", e.gpu_memory_utilization, {0, 1, true},
           "share of the GPU's memory that the engine takes");
  f.integer("block_size", e.block_size, {1, 65536, false}, "tokens per KV page");
  f.integer("max_num_seqs", e.max_num_seqs, {1, 1e6, false}, "sequences in one step at most");
  if (f.listing()) f.rows().back().fallback = "vLLM's for the card";
  f.integer("max_num_batched_tokens", e.max_num_batched_tokens, {1, 1e8, false},
            "tokens in one step at most");
  if (f.listing()) f.rows().back().fallback = "vLLM's for the card";
  f.integer("max_model_len", e.max_model_len, kTokens,
            "longest sequence, prompt and response; 0: what the workload can reach");
  f.flag("chunked_prefill", e.chunked_prefill, "long prompts are computed in pieces between decode steps");
  f.flag("prefix_caching", e.prefix_caching, "equal prompts share their KV pages");
  f.flag("cuda_graphs", e.cuda_graphs, "decode steps replay CUDA graphs");
  f.flag("async_scheduling", e.async_scheduling, "the next step is scheduled while the GPU runs this one");
  f.flag("logprobs", e.logprobs, "log-probabilities of the sampled tokens are returned");
  f.choice("weights", e.weights, kDTypes, "type of the weights");
  f.choice("kv_cache", e.kv_cache, kDTypes, "type of the KV pages");
  f.integer("sleep_level", e.sleep_level, {1, 2, false},
            "colocated: 1 keeps the weights in host memory, 2 drops them");
  f.later("pool", "roles on pools of their own");
}

void describe(Fields& f, FrameworkOptions& o) {
  describe_order(f, o.order);
  f.quantity("sleep_fixed", o.sleep_fixed, kNotNegative, "engine sleep beyond its bytes");
  f.quantity("wake_fixed", o.wake_fixed, kNotNegative, "engine wake beyond its bytes");
  f.quantity("driver_per_step", o.driver_per_step, kNotNegative,
             "controller work of a step between rollout and training, all GPUs waiting");
  f.quantity("reward_per_sample", o.reward_per_sample, kNotNegative,
             "scoring one sample by rule in the driver");
  f.quantity("sync_per_tensor", o.sync_per_tensor, kNotNegative,
             "handle, call and load of one tensor at a weight sync");
  f.flag("reference_on_host", o.reference_on_host,
         "reference weights live in host memory outside their phase");
  f.flag("optimizer_offload", o.optimizer_offload, "optimizer states leave the GPU outside the update");
  f.flag("parameters_offload", o.parameters_offload, "trainer weights leave the GPU during generation");
}

void read_schedule(Fields& f, Schedule& s) {
  f.custom("schedule", "one of synchronous, one_step_off or async", "synchronous",
           "how generation and training take turns; 'rollcast run' takes synchronous", [&](Value const& v) {
             std::vector<ScheduleKind> const kinds = {ScheduleKind::synchronous, ScheduleKind::one_step_off,
                                                      ScheduleKind::async};
             if (v.kind == ValueKind::map) {
               bool const async = v.entries.size() == 1 && v.entries.front().key == "async";
               f.problem(v.mark, "schedule",
                         async ? "the options of async are not simulated yet" : "a map in place of a name",
                         "write schedule: synchronous");
               return;
             }
             std::vector<std::string_view> names;
             for (ScheduleKind k : kinds) {
               names.push_back(name_of(k));
               if (v.kind == ValueKind::scalar && v.text == names.back()) {
                 s.kind = k;
                 return;
               }
             }
             std::string_view const near = nearest(v.text, names);
             f.problem(v.mark, "schedule", fmt::format("there is no schedule '{}'", shown(v.text)),
                       near.empty() ? "write " + one_of(names) : fmt::format("did you mean {}?", near));
           });
  f.origin("schedule", std::string(name_of(s.kind)));
}

}  // namespace rollcast
