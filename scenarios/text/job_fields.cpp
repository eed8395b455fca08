#include "scenarios/text/job_fields.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/engine_defaults.hpp"

namespace rollcast {
namespace {

constexpr Range kRanks{1, 1e6, false};
constexpr Range kBatch{1, 1e9, false};
constexpr Range kTokens{0, 1e9, false};

std::vector<DType> const kDTypes = {DType::fp32, DType::bf16, DType::fp16, DType::fp8};
std::vector<Phase> const kPhases = all_phases();

void optional_type(Fields& f, std::string_view key, std::optional<DType>& v, std::string_view meaning) {
  DType read = v.value_or(DType::bf16);
  if (!f.listing() && !f.has(key)) {
    f.allow(key);
    return;
  }
  f.choice(key, read, {DType::fp32, DType::bf16, DType::fp16}, meaning);
  if (f.listing()) {
    f.rows().back().fallback = "the trainer's";
  } else {
    v = read;
  }
}

void describe_adapter(Fields& f, Adapter& a) {
  f.choice("kind", a.kind, {AdapterKind::lora, AdapterKind::qlora},
           "qlora keeps the frozen base in 4 bits (NF4)");
  f.integer("rank", a.rank, {1, 65536, false}, "rank of the two factors");
  f.integer("count", a.count, {1, 100'000, false},
            "adapters that are trained side by side, each on its share of the prompts");
  f.names("targets", a.targets, {"q", "k", "v", "o", "gate", "up", "down"},
          "projections that get an adapter");
  f.number("dropout", a.dropout, {0, 0.999, false}, "dropout of what an adapter reads; 0: none");
  optional_type(
      f, "weights", a.weights,
      "type of the adapter and its gradients, where it is not the trainer's; PEFT makes adapters of "
      "16 bits fp32 (autocast_adapter_dtype)");
  f.choice("sync", a.sync, {AdapterSync::merged, AdapterSync::adapter},
           "what reaches the engine: the merged weights, or the adapter alone");
  if (f.listing() || a.kind == AdapterKind::qlora) {
    f.choice(
        "quantization", a.quantization,
        {Quantization::nf4, Quantization::nf4_fp16, Quantization::torchao, Quantization::gptq},
        "4 bits and the way back: one kernel (bitsandbytes since 0.43), one that writes fp16 and a cast "
        "(bitsandbytes to 0.42), one kernel whose product keeps no input (torchao), or operations of PyTorch "
        "(auto-gptq)");
    optional_type(f, "unquantized", a.unquantized,
                  "type of embeddings, norms and head, where it is not the trainer's (qlora); PEFT's "
                  "prepare_model_for_kbit_training casts them to fp32");
  } else {
    f.forbid("quantization", "only qlora has a quantized base");
    f.forbid("unquantized", "only qlora has a quantized base");
  }
  if (f.listing() || (a.kind == AdapterKind::qlora && a.quantization != Quantization::gptq)) {
    f.flag("block_constants", a.block_constants, "count NF4's fp32 constant per 64 weights");
    f.flag("double_quantization", a.double_quantization, "those constants quantized in turn");
  } else if (a.kind == AdapterKind::qlora) {
    f.forbid("block_constants", "gptq's scales and zeros are always counted");
    f.forbid("double_quantization", "gptq's scales are not quantized");
  } else {
    f.forbid("block_constants", "only qlora has quantization constants");
    f.forbid("double_quantization", "only qlora has quantization constants");
  }
}

void read_reward(Fields& f, Value const& v, Algorithm& a) {
  if (v.kind == ValueKind::scalar && (v.text == "rules" || v.text == "model")) {
    a.reward_model = v.text == "model";
    return;
  }
  f.problem(v.mark, "reward", fmt::format("there is no reward '{}'", shown(v.text)), "write rules or model");
}

// What only groups of samples have.
void describe_groups(Fields& f, Algorithm& a) {
  if (!f.listing() && a.kind != AlgorithmKind::grpo) {
    f.forbid("equal_reward_groups", "a key of grpo");
    f.forbid("dynamic_sampling", "a key of grpo");
    return;
  }
  f.number("equal_reward_groups", a.equal_reward_groups, {0, 0.999, false},
           "share of groups whose rewards are all equal, so that they carry no signal (grpo)");
  DynamicSampling sampling = a.dynamic_sampling.value_or(DynamicSampling{});
  if (f.optional_group(
          "dynamic_sampling", "groups without signal are dropped and made up for (DAPO)", [&](Fields& g) {
            g.number("oversampling", sampling.oversampling, {0.01, 100, false},
                     "prompts generated in a round over prompts needed");
            g.integer("most_rounds", sampling.most_rounds, {1, 1000, false}, "rounds of generation at most");
          })) {
    a.dynamic_sampling = sampling;
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
              "samples (dpo: pairs) per optimizer step; grpo, ppo: all samples of the step by default, of an "
              "asynchronous step those of one part");
    f.derived("train_batch");
  } else {
    std::string const why = fmt::format("{} trains on a data set, it generates nothing", name_of(a.kind));
    f.forbid("prompts", why);
    f.forbid("group_size", why);
    f.integer("train_batch", a.train_batch, kBatch, "samples (dpo: pairs) per optimizer step");
    f.require("train_batch", "write for example train_batch: 64");
  }
  if (f.listing() || generates(a.kind)) {
    a.kl_reference = !f.listing() && a.kind == AlgorithmKind::ppo;
    f.flag("kl_reference", a.kl_reference,
           "a frozen reference model for the KL term (grpo, ppo; true for ppo where it is not written)");
    a.reward_model = !f.listing() && a.kind == AlgorithmKind::ppo;
    f.custom("reward", "rules or model", "rules; ppo: model", "who scores",
             [&](Value const& v) { read_reward(f, v, a); });
    if (!f.listing()) f.origin("reward", a.reward_model ? "model" : "rules");
  } else {
    a.kl_reference = a.kind == AlgorithmKind::dpo;
    f.forbid("kl_reference",
             a.kl_reference ? "dpo always has a reference model" : "sft has no reference model");
    f.forbid("reward", fmt::format("{} scores nothing", name_of(a.kind)));
  }
  if (f.listing() || a.kind == AlgorithmKind::dpo) {
    f.flag("reference_precomputed", a.reference_precomputed,
           "the reference's log-probabilities come with the data set (dpo)");
  } else {
    f.forbid("reference_precomputed", "a key of dpo");
  }
  if (f.listing() || a.kind == AlgorithmKind::ppo) {
    f.integer("critic_warmup", a.critic_warmup, {0, 1e6, false},
              "first steps in which only the critic is updated (ppo)");
  } else {
    f.forbid("critic_warmup", "a key of ppo");
  }
  describe_groups(f, a);
  f.integer("epochs", a.epochs, {1, 1000, false}, "passes over the samples of a step");
  Adapter adapter = a.adapter.value_or(Adapter{.targets = {"q", "v"}});
  if (f.optional_group("adapter", "train a low-rank adapter on a frozen base",
                       [&](Fields& g) { describe_adapter(g, adapter); })) {
    a.adapter = adapter;
  }
}

namespace {

// Where the KV pages come from.
void describe_kv(Fields& f, EngineOptions& e) {
  f.choice(
      "kv", e.kv, {KvCache::paged, KvCache::preallocated},
      "pages shared by all sequences (hf: a cache that grows with its batch); static: room for max_num_seqs "
      "sequences (hf: the batch) of the longest length, taken at the start");
  bool const takes_bytes = e.kind == EngineKind::vllm || e.kind == EngineKind::trtllm;
  if (f.listing() || (takes_bytes && e.kv == KvCache::paged)) {
    f.quantity("kv_cache_bytes", e.kv_cache_bytes, kNotNegative,
               "KV pages of a rank, in place of what gpu_memory_utilization leaves (vllm, trtllm); 0: that");
  } else {
    f.forbid("kv_cache_bytes", takes_bytes ? "static KV has a size of its own" : "a key of vllm and trtllm");
  }
}

}  // namespace

void describe(Fields& f, EngineOptions& e, Gpu const& gpu, int context) {
  f.choice("engine", e.kind, {EngineKind::vllm, EngineKind::sglang, EngineKind::trtllm, EngineKind::hf},
           "rollout engine; hf: generate() of Transformers, one padded batch at a time");
  f.text("version", e.version,
         "release of the engine, as in 0.3.1 (hf: of Transformers): its speed and how it sizes its KV pages; "
         "default: a current one");
  f.group("parallel", "how an engine is cut", [&](Fields& g) {
    g.integer("tp", e.parallel.tp, kRanks, "tensor-parallel ranks of one engine");
    g.integer("pp", e.parallel.pp, kRanks, "pipeline stages of one engine");
    g.integer("ep", e.parallel.ep, kRanks, "ranks that share the experts");
  });
  f.integer("max_model_len", e.max_model_len, kTokens,
            "longest sequence, prompt and response; 0: what the workload can reach");
  EngineDefaults const own =
      engine_defaults(e.kind, e.version, gpu, e.parallel.tp, e.max_model_len > 0 ? e.max_model_len : context);
  std::vector<SourceNote> const notes = {{"max_num_seqs", std::string(own.source)},
                                         {"max_num_batched_tokens", std::string(own.source)},
                                         {"gpu_memory_utilization", std::string(own.source)},
                                         {"async_scheduling", std::string(own.source)},
                                         {"chunked_prefill", std::string(own.source)},
                                         {"block_size", std::string(own.source)}};
  if (!f.listing()) {
    e.max_num_seqs = own.max_num_seqs;
    e.max_num_batched_tokens = own.max_num_batched_tokens;
    e.gpu_memory_utilization = own.gpu_memory_utilization;
    e.async_scheduling = own.async_scheduling;
    e.chunked_prefill = own.chunked_prefill;
    e.block_size = own.block_size;
    f.set_from("default", &notes);
  }
  f.flag("data_parallel_attention", e.data_parallel_attention,
         "attention replicated over the ranks of an engine, each with sequences of its own");
  Speculation speculative = e.speculative.value_or(Speculation{});
  if (f.optional_group("speculative", "tokens are drafted and then verified together", [&](Fields& g) {
        g.integer("draft_tokens", speculative.draft_tokens, {1, 64, false}, "tokens drafted a step");
        g.number("acceptance", speculative.acceptance, {0, 1, false},
                 "probability that a draft token is accepted if those before it were");
      })) {
    e.speculative = speculative;
  }
  f.integer("feed", e.feed, {0, 1e6, false}, "samples that an engine is given at a time; 0: all at once");
  f.choice("balance", e.balance,
           {EngineBalance::contiguous, EngineBalance::round_robin, EngineBalance::least_load,
            EngineBalance::by_group},
           "which engine gets which samples");
  f.number("oversampling", e.oversampling, {1, 100, false},
           "prompts started over prompts needed; the phase ends when enough have finished");
  f.flag("partial_rollout", e.partial_rollout,
         "samples that are unfinished then go on in the next step; else they are thrown away");
  f.quantity(
      "residue", e.residue, kNotNegative,
      "GPU memory that a sleeping engine keeps beyond context, communicators and graphs; 0: as measured for "
      "vLLM");
  f.integer("adapter_slots", e.adapter_slots, {0, 1e6, false},
            "adapters that the engine holds at a time (vLLM's max_loras); 0: as many as are needed");
  f.integer("block_size", e.block_size, {1, 65536, false}, "tokens per KV page");
  f.integer("max_num_seqs", e.max_num_seqs, {1, 1e6, false}, "sequences in one step at most");
  if (f.listing()) f.rows().back().fallback = "the engine's for the card";
  f.integer("max_num_batched_tokens", e.max_num_batched_tokens, {1, 1e8, false},
            "tokens in one step at most");
  if (f.listing()) f.rows().back().fallback = "the engine's for the card";
  f.flag("chunked_prefill", e.chunked_prefill, "long prompts are computed in pieces between decode steps");
  f.flag("prefix_caching", e.prefix_caching, "equal prompts share their KV pages");
  f.flag("cuda_graphs", e.cuda_graphs, "decode steps replay CUDA graphs");
  if (f.listing() || e.kind != EngineKind::hf) {
    f.flag("custom_all_reduce", e.custom_all_reduce,
           "small all-reduces within a node by the engine's own kernels; else by NCCL");
  } else {
    f.forbid("custom_all_reduce", "generate() of Transformers has only NCCL's");
  }
  f.flag("async_scheduling", e.async_scheduling, "the next step is scheduled while the GPU runs this one");
  f.flag("logprobs", e.logprobs, "log-probabilities of the sampled tokens are returned");
  f.choice("front_end", e.front_end, {FrontEnd::server, FrontEnd::apart, FrontEnd::in_process},
           "who makes text and log-probabilities of the sampled tokens: an HTTP server, a process beside the "
           "engine's (vLLM's AsyncLLM), the engine's own between its steps (vLLM's LLM with "
           "VLLM_ENABLE_V1_MULTIPROCESSING=0)");
  if (!f.listing() && e.kind == EngineKind::sglang)
    e.gpu_memory_utilization = sglang_static_fraction(gpu, e, own.cuda_graph_tokens);
  f.number("gpu_memory_utilization", e.gpu_memory_utilization, {0, 1, true},
           "share of the GPU's memory that the engine takes; SGLang: mem_fraction_static");
  describe_kv(f, e);
  f.choice("weights", e.weights, kDTypes, "type of the weights");
  f.choice("kv_cache", e.kv_cache, kDTypes, "type of the KV pages");
  f.integer("sleep_level", e.sleep_level, {0, 2, false},
            "colocated: 0 only pauses, 1 keeps the weights in host memory, 2 drops them");
  if (!f.listing()) f.set_from("default");  // the notes end here
}

void describe(Fields& f, FrameworkOptions& o) {
  describe_order(f, o.order);
  f.quantity("sleep_fixed", o.sleep_fixed, kNotNegative, "engine sleep beyond its bytes");
  f.quantity("wake_fixed", o.wake_fixed, kNotNegative, "engine wake beyond its bytes");
  f.quantity("wake_graphs", o.wake_graphs, kNotNegative,
             "the same of an engine with CUDA graphs, which are captured or mapped anew");
  f.quantity("driver_per_step", o.driver_per_step, kNotNegative,
             "controller work of a step between rollout and training, all GPUs waiting");
  f.quantity("dispatch_per_phase", o.dispatch_per_phase, kNotNegative,
             "calling the workers of one phase and collecting what they return");
  f.quantity("sync_per_tensor", o.sync_per_tensor, kNotNegative,
             "handle, call and load of one tensor at a weight sync");
  f.flag("reference_on_host", o.reference_on_host,
         "reference weights live in host memory outside their phase");
  f.flag("optimizer_offload", o.optimizer_offload, "optimizer states leave the GPU outside the update");
  f.flag("parameters_offload", o.parameters_offload, "trainer weights leave the GPU during generation");
  f.flag("pinned_copies", o.pinned_copies, "the trainer's states move through page-locked host memory");
  f.choice("experience", o.experience, {Experience::step, Experience::batch, Experience::stream},
           "when models on other GPUs than the engines' see the samples: once for the step; each batch of an "
           "engine before its next; as they come");
  f.flag("critic_in_background", o.critic_in_background,
         "the next step's generation does not wait for the critic's update");
  f.flag("engine_first", o.engine_first,
         "colocated: the engines start on empty GPUs, else beside what the trainer holds");
  f.flag("wake_by_tags", o.wake_by_tags,
         "colocated: weights wake for the weight sync and KV pages after it; else both for the sync");
  f.choice(
      "sync_gather", o.sync_gather,
      {SyncGather::tensor, SyncGather::shards, SyncGather::whole, SyncGather::first_rank},
      "what a rank of the trainer holds of the model at a weight sync: a tensor at a time, a copy of its "
      "shards beside them, all of it, or all of it on the first rank");
  f.quantity("sync_gathered", o.sync_gathered, kNotNegative,
             "bytes that it holds then; 0: the model in the engine's type");
  f.flag("gather_before_wake", o.gather_before_wake,
         "colocated: that is gathered and gone before the engine's weights wake; else it comes after them");
  f.choice("sync_gather_stream", o.sync_gather_stream, {GatherStream::default_stream, GatherStream::sender},
           "pools apart, fsdp2 and ZeRO-3: where the first rank gathers what it sends, on the default stream "
           "before the send, or on the sender's behind the broadcasts under way");
  f.group("communicators", "of all GPUs of the actor's pool, that sync weights side by side", [&](Fields& g) {
    g.integer("per_gpu", o.communicators.per_gpu, {1, 1024, false}, "how many, each on its own stream");
    g.choice("order", o.communicators.order, {IssueOrder::fixed, IssueOrder::random},
             "in which the GPUs issue them: one for all, or each its own");
    g.integer("concurrent", o.communicators.concurrent, {1, 1024, false}, "kernels that run at a time");
  });
  f.quantity(
      "sync_communicator", o.sync_communicator, kNotNegative,
      "pools apart: bytes that the communicator of a weight sync takes outside PyTorch on a rank, which is "
      "made for each sync; 0: as measured for NCCL");
  f.quantity("refit_buffer", o.refit_buffer, kNotNegative,
             "nemo-rl: bytes of the buffer of a refit; 0: a share of the free memory");
  f.flag("refit_whole_tensors", o.refit_whole_tensors,
         "nemo-rl: a tensor larger than half the buffer ends the run, as before its pull request 3356");
  f.flag("empty_cache", o.empty_cache,
         "colocated: PyTorch's free blocks go back to the driver before an engine wakes");
  f.integer("load_copies", o.load_copies, {0, 16, false},
            "copies of a whole trained model on the host of each rank while it is loaded");
  f.choice("numa", o.numa, {NumaBinding::spread, NumaBinding::first},
           "NUMA nodes of a host that the processes are bound to: evenly, or all to the first");
  f.flag("offload_with_sync", o.offload_with_sync,
         "optimizer states and trainer weights leave the GPU with the weight sync, and stay where there is "
         "none");
  f.number("host_memory_share", o.host_memory_share, {0, 1, true},
           "share of a node's memory beyond which the launcher ends processes");
  f.flag("sync_watchdog", o.sync_watchdog,
         "pools apart: c10d times the group of a weight sync; NCCL without c10d has no timer");
  f.flag("single_controller", o.single_controller,
         "a driver calls the workers, which are idle between; else ranks without work wait in a collective");
}

namespace {

void describe_time(Fields& f, std::string_view key, ServiceTime& t, std::string_view meaning) {
  f.group(key, meaning, [&](Fields& g) {
    g.quantity("mean", t.mean, kNotNegative, "mean");
    g.quantity("p95", t.p95, kNotNegative,
               "95th percentile of a log-normal distribution; 0: always the mean");
    if (t.p95.value > 0 && t.p95 < t.mean)
      g.problem(g.mark_of("p95"), "p95", "below the mean", "write a p95 of at least the mean");
  });
}

void describe_async(Fields& f, AsyncOptions& a) {
  f.number("max_staleness", a.max_staleness, {0, 1000, false},
           "versions that a sample may lag behind; verl: that share of a version's samples");
  f.integer("sync_every", a.sync_every, {1, 100000, false}, "steps from one weight sync to the next");
  f.integer("parts_per_step", a.parts_per_step, {1, 10000, false},
            "a step takes its samples in so many parts, each as soon as it is there");
  f.choice("queue", a.queue, {QueueRule::verl, QueueRule::areal, QueueRule::slime, QueueRule::nemo_rl},
           "how the samples under way are limited");
  f.flag("partial_rollout", a.partial_rollout,
         "a sync interrupts what is under way, which goes on with the new weights; else it is waited for");
  f.flag("in_flight_updates", a.in_flight_updates, "weights change between two decode steps; KV stays");
  f.integer("max_concurrent", a.max_concurrent, {0, 1e9, false},
            "samples under way at most; 0: what the queue rule allows");
}

}  // namespace

void read_schedule(Fields& f, Schedule& s) {
  std::vector<ScheduleKind> const kinds = {ScheduleKind::synchronous, ScheduleKind::one_step_off,
                                           ScheduleKind::async};
  f.custom("schedule", "synchronous, one_step_off, async, or {async: {...}}", "synchronous",
           "how generation and training take turns", [&](Value const& v) {
             std::vector<std::string_view> names;
             names.reserve(kinds.size());
             for (ScheduleKind k : kinds) names.push_back(name_of(k));
             bool const map = v.kind == ValueKind::map && v.entries.size() == 1;
             std::string_view const name =
                 map ? std::string_view(v.entries.front().key) : std::string_view(v.text);
             auto const found = std::find(names.begin(), names.end(), name);
             if (v.kind != ValueKind::scalar && !(map && name == name_of(ScheduleKind::async))) {
               f.problem(v.mark, "schedule", "only async takes options", "write schedule: {async: {...}}");
               return;
             }
             if (found == names.end()) {
               std::string_view const near = nearest(name, names);
               f.problem(v.mark, "schedule", fmt::format("there is no schedule '{}'", shown(name)),
                         near.empty() ? "write " + one_of(names) : fmt::format("did you mean {}?", near));
               return;
             }
             s.kind = kinds[static_cast<std::size_t>(found - names.begin())];
             if (!map) return;
             Fields inner(f.reading(), &v, "schedule", v.mark, "default");
             inner.group("async", "options", [&](Fields& g) { describe_async(g, s.async); });
             inner.finish();
           });
  if (f.listing()) {
    Fields inner(f.rows(), "schedule.async");
    describe_async(inner, s.async);
    return;
  }
  f.origin("schedule", std::string(name_of(s.kind)));
}

void describe(Fields& f, Scoring& s) {
  f.quantity("seconds_per_sample", s.seconds_per_sample, kNotNegative, "scoring one sample by rule");
  f.integer("workers", s.workers, {1, 1e6, false},
            "CPU workers for the rules; with one the driver scores, one sample after another");
  Sandbox sandbox = s.sandbox.value_or(Sandbox{});
  if (f.optional_group("sandbox", "code is run to score it", [&](Fields& g) {
        g.integer("workers", sandbox.workers, {1, 1e6, false}, "sandboxes that run at the same time");
        describe_time(g, "seconds", sandbox.seconds, "of one sample");
        g.quantity("timeout", sandbox.timeout, kNotNegative, "a run is stopped then; 0: never");
      })) {
    s.sandbox = sandbox;
  }
  Environment environment = s.environment.value_or(Environment{});
  if (f.optional_group("environment", "a sample takes turns with a tool", [&](Fields& g) {
        g.integer("turns", environment.turns, {1, 10000, false},
                  "turns of a sample; its response tokens are divided among them");
        g.integer("observation_tokens", environment.observation_tokens, {0, 1e7, false},
                  "tokens that come back from the tool between two turns");
        describe_time(g, "tool_seconds", environment.tool, "of one tool call");
        g.flag("keep_kv", environment.keep_kv, "KV stays during the call; else it is computed again");
      })) {
    s.environment = environment;
  }
  f.quantity("timeout", s.timeout, kNotNegative,
             "of a sample by rule, which counts as scored then; 0: never");
  f.flag("overlap", s.overlap, "samples are scored as they finish; else when all have");
  f.integer("padded_tokens", s.padded_tokens, kTokens,
            "critic and reward model see sequences padded to this; 0: as the trainer pads");
}

void describe(Fields& f, ValidationOptions& v) {
  f.integer("every", v.every, {0, 1e6, false}, "steps from one to the next; 0: none");
  f.integer("prompts", v.prompts, {1, 100'000, false}, "prompts, one response each");
  f.flag("before_sync", v.before_sync,
         "right after the update, before the weights travel; else at the end of the step");
}

void describe(Fields& f, CheckpointOptions& c) {
  f.integer("every", c.every, {0, 1e6, false}, "steps from one to the next; 0: none");
  f.flag("optimizer", c.optimizer, "optimizer states and master weights are saved too");
  f.choice("mode", c.mode, {CheckpointMode::sync, CheckpointMode::async},
           "training waits until all is written, or until it is copied to host memory (async): the write "
           "goes on behind, and the next checkpoint waits for it");
  f.choice("format", c.format, {CheckpointFormat::sharded, CheckpointFormat::gathered},
           "every rank writes what it holds, or the first rank gathers and writes all of it");
  f.choice("storage", c.storage, {CheckpointStorage::shared, CheckpointStorage::local},
           "one storage for all nodes, or the disks of each node");
  f.number("copies", c.copies, {0, 100, false}, "copies of what a rank saves in host memory meanwhile");
  f.quantity("bandwidth", c.bandwidth, kPositive, "to storage, of a node");
  f.quantity("shared_bandwidth", c.shared_bandwidth, kNotNegative,
             "of shared storage, all nodes together; 0: no limit");
}

}  // namespace rollcast
