// The keys of the block `train`.
#include "scenarios/text/job_fields.hpp"

namespace rollcast {
namespace {

constexpr Range kRanks{1, 1e6, false};
constexpr Range kBatch{1, 1e9, false};
constexpr Range kTokens{0, 1e9, false};
constexpr Range kBudget{1, 1e9, false};

std::vector<DType> const kDTypes = {DType::fp32, DType::bf16, DType::fp16, DType::fp8};

void optional_integer(Fields& f, std::string_view key, std::optional<int>& v, std::string_view meaning) {
  int read = v.value_or(0);
  if (!f.listing() && !f.has(key)) {
    f.allow(key);
    return;
  }
  f.integer(key, read, {1, 1e6, false}, meaning);
  if (f.listing()) {
    f.rows().back().fallback = "an even share";
  } else {
    v = read;
  }
}

void describe_allocator(Fields& f, AllocatorConfig& c) {
  f.custom("allocator", "PYTORCH_CUDA_ALLOC_CONF, \"key:value,key:value\"", "PyTorch's defaults",
           "options of PyTorch's caching allocator", [&](Value const& v) {
             if (v.kind != ValueKind::scalar) {
               f.problem(v.mark, "allocator", "not a text", "write \"expandable_segments:True\", say");
               return;
             }
             AllocatorConfigResult const read = parse_allocator_config(v.text);
             if (read.config)
               c = *read.config;
             else
               f.problem(v.mark, "allocator", read.error, "write what PyTorch would read");
           });
  std::string const text = to_text(c);
  if (!f.listing()) f.origin("allocator", text.empty() ? "PyTorch's defaults" : text);
}

}  // namespace

void describe(Fields& f, TrainerOptions& t) {
  f.choice("trainer", t.kind,
           {TrainerKind::megatron, TrainerKind::fsdp2, TrainerKind::deepspeed, TrainerKind::ddp},
           "training backend; ddp: PyTorch with whole weights on every GPU");
  f.group("parallel", "how a replica is cut", [&](Fields& g) {
    g.integer("tp", t.parallel.tp, kRanks, "tensor-parallel ranks");
    g.integer("pp", t.parallel.pp, kRanks, "pipeline stages");
    g.integer("cp", t.parallel.cp, kRanks, "context-parallel ranks");
    g.integer("ep", t.parallel.ep, kRanks, "ranks that share the experts");
    if (g.listing() || t.kind == TrainerKind::megatron) {
      int etp = t.parallel.expert_tp();
      g.integer(
          "etp", etp, kRanks,
          "ranks that cut each expert (megatron); experts lie on a grid of their own over the ranks of a "
          "stage: etp, ep, data parallel");
      g.derived("etp");
      if (g.listing()) g.rows().back().fallback = "tp";
      if (g.has("etp")) t.parallel.etp = etp;
    } else {
      g.forbid("etp", "a key of megatron");
    }
  });
  f.integer("micro_batch", t.micro_batch, kBatch, "sequences per micro-batch; with packing, packs");
  f.integer("logprob_micro_batch", t.logprob_micro_batch, kBatch, "the same in log-probability forwards");
  f.flag("packing", t.packing, "sequences packed together rather than padded");
  f.flag("equal_packs", t.equal_packs,
         "with pipeline parallelism, packs are padded to the longest of their batch");
  f.integer("pack_tokens", t.pack_tokens, kTokens, "tokens of one pack; 0: the longest sequence");
  f.flag("dynamic_batching", t.dynamic_batching,
         "micro-batches by a budget of tokens instead of a number of sequences");
  f.flag("equal_micro_batches", t.equal_micro_batches,
         "dynamic batching: every data-parallel rank runs as many as the fullest; else each as many as it "
         "needs");
  if (!f.listing() && !t.dynamic_batching && !t.equal_micro_batches)
    f.problem(f.mark_of("equal_micro_batches"), "equal_micro_batches", "only dynamic batching counts them",
              "write dynamic_batching: true, or remove the key");
  f.integer("tokens_per_micro_batch", t.tokens_per_micro_batch, kBudget, "that budget, per rank");
  f.integer("logprob_tokens_per_micro_batch", t.logprob_tokens_per_micro_batch, kBudget,
            "the same in log-probability forwards");
  if (!f.listing()) t.balance = t.packing ? Balance::sorted : Balance::none;
  f.choice("balance", t.balance, {Balance::none, Balance::sorted, Balance::karmarkar_karp},
           "how sequences are dealt to the data-parallel ranks; with packing sorted by default");
  f.derived("balance");
  f.choice("padding", t.padding, {Padding::longest, Padding::batch, Padding::maximum},
           "an unpacked micro-batch is padded to its longest sequence, to that of the whole batch, or to the "
           "longest that the workload "
           "allows");
  f.choice("context_parallel", t.context_parallel, {ContextParallel::ring, ContextParallel::ulysses},
           "K and V around a ring, or heads exchanged for tokens");
  f.choice(
      "kernels", t.kernels, {KernelStack::fused, KernelStack::compiled, KernelStack::eager},
      "element-wise kernels: fused by hand (Megatron, Transformer Engine), by torch.compile, or one each");
  if (f.listing() || t.kind != TrainerKind::megatron) {
    f.flag("merged_qkv", t.merged_qkv,
           "q, k and v are one product, with one adapter (Qwen v1, GPT-NeoX, LitGPT; fsdp2, deepspeed)");
  } else {
    f.forbid("merged_qkv", "megatron's q, k and v always are one product");
  }
  f.flag("flash_attention_2", t.flash_attention_2,
         "attention kernels of FlashAttention-2 where a later one would be faster (Hopper)");
  f.choice("fp8_scaling", t.fp8_scaling, {Fp8Scaling::tensor, Fp8Scaling::block},
           "scales of fp8 weights: one a tensor, or one a block");
  f.choice("recompute", t.recompute, {Recompute::none, Recompute::selective, Recompute::full},
           "activation recomputation");
  f.flag("sequence_parallel", t.sequence_parallel, "norms and residuals cut over the tensor-parallel ranks");
  if (f.listing() || t.kind == TrainerKind::megatron) {
    f.flag("distributed_optimizer", t.distributed_optimizer,
           "optimizer states and masters cut over the data-parallel ranks (megatron)");
  } else {
    f.forbid("distributed_optimizer", "a key of megatron");
  }
  if (f.listing() || t.kind == TrainerKind::megatron) {
    f.integer("virtual_stages", t.virtual_stages, {1, 1000, false},
              "chunks of layers that a pipeline rank holds, interleaved (megatron)");
    optional_integer(f, "first_stage_layers", t.first_stage_layers,
                     "layers of the first pipeline rank (megatron)");
    optional_integer(f, "last_stage_layers", t.last_stage_layers,
                     "layers of the last pipeline rank (megatron)");
  } else {
    for (std::string_view key : {"virtual_stages", "first_stage_layers", "last_stage_layers"})
      f.forbid(key, "a key of megatron");
  }
  if (f.listing() || t.kind == TrainerKind::fsdp2 || t.kind == TrainerKind::deepspeed) {
    f.integer("shard_ranks", t.shard_ranks, {0, 1e6, false},
              "ranks that share one copy of the states (fsdp2, deepspeed); 0: all data-parallel ones");
  } else {
    f.forbid("shard_ranks", "a key of fsdp2 and deepspeed");
  }
  if (f.listing() || t.kind == TrainerKind::deepspeed) {
    f.integer("zero_stage", t.zero_stage, {0, 3, false},
              "ZeRO stage (deepspeed; fsdp2 cuts everything, as stage 3)");
    if (f.listing() || f.has("critic_zero_stage")) {
      int stage = t.zero_stage;
      f.integer("critic_zero_stage", stage, {0, 3, false},
                "that of the critic and the reward model (deepspeed); default: zero_stage");
      if (f.listing())
        f.rows().back().fallback.clear();
      else
        t.critic_zero_stage = stage;
    } else {
      f.allow("critic_zero_stage");
    }
  } else {
    f.forbid("critic_zero_stage", "a key of deepspeed");
    f.forbid("zero_stage", "a key of deepspeed");
    t.zero_stage = t.kind == TrainerKind::fsdp2 ? 3 : 0;
  }
  f.choice("weights", t.weights, kDTypes, "type of the weights in forward and backward");
  f.choice("gradients", t.gradients, {DType::fp32, DType::bf16, DType::fp16}, "type of the gradient buffer");
  f.flag("master_weights", t.master_weights, "an fp32 copy of the weights in the optimizer");
  f.choice("optimizer_states", t.optimizer_states, kDTypes, "type of Adam's two states");
  if (f.listing() || t.kind == TrainerKind::fsdp2 || t.kind == TrainerKind::ddp) {
    f.flag("optimizer_in_backward", t.optimizer_in_backward,
           "each parameter takes its step as soon as its gradient is there, which then goes (fsdp2, ddp)");
    f.flag("foreach_optimizer", t.foreach_optimizer,
           "Adam by lists of tensors, with one more state during a step, rather than in one fused kernel "
           "(fsdp2, ddp)");
  } else {
    f.forbid("optimizer_in_backward", "a key of fsdp2 and ddp");
    f.forbid("foreach_optimizer", "a key of fsdp2 and ddp");
  }
  f.flag("paged_optimizer", t.paged_optimizer,
         "optimizer states in unified memory, on the GPU as far as it has room (bitsandbytes' paged "
         "optimizers)");
  f.flag("expand_kv", t.expand_kv, "keys and values are copied to every query head before attention");
  f.flag("overlap_gradient_reduce", t.overlap_gradient_reduce, "reduce gradients during the backward pass");
  f.flag("overlap_tensor_parallel", t.overlap_tensor_parallel,
         "tensor-parallel collectives run in chunks beside the products");
  if (f.listing() || t.kind == TrainerKind::megatron) {
    f.choice("expert_dispatch", t.expert_dispatch, {ExpertDispatch::all_to_all, ExpertDispatch::deepep},
             "how tokens reach their experts: an all-to-all with a copy per expert, or DeepEP (megatron)");
  } else {
    f.forbid("expert_dispatch", "a key of megatron");
  }
  f.flag("overlap_parameter_gather", t.overlap_parameter_gather, "gather parameters during the forward pass");
  f.quantity("bucket", t.bucket, kPositive, "gradient bucket of one reduction");
  f.choice(
      "cross_entropy", t.cross_entropy,
      {CrossEntropy::whole, CrossEntropy::chunked, CrossEntropy::fused, CrossEntropy::linear},
      "the loss on the logits: PyTorch's operations on all at once, product and loss on some rows at a time, "
      "one kernel, or one "
      "with the product over the vocabulary, so that the logits never exist as a whole");
  f.choice("logits", t.logits, {LogitsPrecision::fp32, LogitsPrecision::autocast, LogitsPrecision::weights},
           "of a whole loss outside Megatron: the model returns fp32 logits, the loss casts them, or it "
           "works in the "
           "weights' type");
  f.flag(
      "shifted_labels", t.shifted_labels,
      "of a whole loss on fp32 logits: the labels are shifted by one, so that no copy of the logits is made");
  f.choice(
      "entropy", t.entropy, {Entropy::none, Entropy::whole, Entropy::chunked},
      "entropy of the actor's distribution in its log-probability forwards: not computed, of all tokens of "
      "a micro-batch at once, or of so many rows at a time");
  f.integer("entropy_rows", t.entropy_rows, kBudget, "tokens of a chunk of it");
  f.flag("entropy_in_update", t.entropy_in_update, "the entropy is computed beside the loss too");
  if (f.listing() || t.kind == TrainerKind::fsdp2) {
    f.flag("shard_embedding", t.shard_embedding,
           "embedding and head are modules of their own, gathered when they are used (fsdp2)");
  } else {
    f.forbid("shard_embedding", "a key of fsdp2");
  }
  f.flag("fresh_streams", t.fresh_streams,
         "every optimizer step gathers layers on a CUDA stream that it makes anew, and what was allocated on "
         "the "
         "old ones stays reserved");
  describe_allocator(f, t.allocator);
  f.optional_group("offload", "what lives in host memory", [&](Fields& g) {
    g.flag("parameters", t.offload.parameters, "weights");
    g.flag("gradients", t.offload.gradients, "gradients");
    g.flag("optimizer", t.offload.optimizer, "optimizer states and master weights");
    g.flag("activations", t.offload.activations,
           "what layers keep for their backward passes, copied out and back beside the layers' work");
  });
  constexpr std::string_view kHostKeys[] = {"host_threads", "pinned_gradients", "pinned_weights"};
  bool const on_host = t.kind == TrainerKind::deepspeed && t.offload.optimizer;
  for (std::string_view key : kHostKeys) {
    if (!f.listing() && !on_host && f.by_hand(key))
      f.forbid(key, "a key of deepspeed with the optimizer in host memory");
  }
  if (f.listing() || t.kind == TrainerKind::deepspeed) {
    f.integer("host_threads", t.host_threads, {0, 1000, false},
              "OpenMP threads of a rank's optimizer in host memory (deepspeed); 0: its share of the node's");
    f.flag("pinned_gradients", t.pinned_gradients,
           "gradients reach the optimizer in host memory through page-locked buffers (deepspeed)");
    f.flag("pinned_weights", t.pinned_weights,
           "weights come back from there through page-locked buffers (deepspeed)");
  } else {
    for (std::string_view key : kHostKeys) f.allow(key);
  }
}

}  // namespace rollcast
