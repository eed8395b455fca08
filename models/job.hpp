// The job: algorithm, trainer, rollout engine, lengths and schedule, as plain options.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/allocator_config.hpp"
#include "models/architecture.hpp"
#include "models/checkpoint_options.hpp"
#include "models/collective_options.hpp"
#include "models/faults.hpp"
#include "models/hardware.hpp"
#include "models/launcher.hpp"
#include "models/lengths.hpp"
#include "models/network.hpp"
#include "models/phase.hpp"
#include "models/reliability.hpp"
#include "models/serve_options.hpp"
#include "models/units.hpp"
#include "models/watchdog.hpp"
#include "models/weight_sync_options.hpp"

namespace rollcast {

enum class DType { fp32, bf16, fp16, fp8 };
Bytes size_of(DType d);

// ---- algorithm
// -------------------------------------------------------------------------------------------------
// serve: nothing is trained; the block `serve:` stands in the place of an algorithm.
enum class AlgorithmKind { sft, dpo, ppo, grpo, serve };
enum class AdapterKind { lora, qlora };
enum class AdapterSync { merged, adapter };
// How a base of 4 bits is stored and made the trainer's type again (models/adapter_passes.hpp).
enum class Quantization { nf4, nf4_fp16, torchao, gptq };

struct Adapter {
  AdapterKind kind = AdapterKind::lora;
  int rank = 16;
  std::vector<std::string> targets;        // of q, k, v, o, gate, up, down
  bool block_constants = true;             // QLoRA: NF4 with one fp32 constant per 64 weights
  bool double_quantization = false;        // QLoRA: those constants quantized in turn
  AdapterSync sync = AdapterSync::merged;  // what reaches the engine: merged weights, or the adapter alone
  Quantization quantization = Quantization::nf4;  // QLoRA
  double dropout = 0;                             // of what the pair reads; 0: no such operation
  std::optional<DType> weights = {};              // of the adapter and its gradients; absent: the trainer's
  std::optional<DType> unquantized = {};  // QLoRA: of embeddings, norms and head; absent: the trainer's
  // Adapters that are trained side by side on one base and one pool of engines, each on its share of the
  // samples. A token passes one of them, so the trainer's passes cost what they cost with one.
  int count = 1;
};

// DAPO: groups without signal are dropped and generation goes on until enough groups are there.
struct DynamicSampling {
  double oversampling = 1;  // prompts generated in one round over prompts needed
  int most_rounds = 10;
};

struct Algorithm {
  AlgorithmKind kind = AlgorithmKind::grpo;
  int prompts = 0;      // per step (sft, dpo: unused)
  int group_size = 1;   // samples per prompt
  int train_batch = 0;  // samples (dpo: pairs) per optimizer step
  bool kl_reference = false;
  bool reward_model = false;           // a model on GPUs scores; else rules
  bool reference_precomputed = false;  // dpo: the reference's log-probabilities come with the data set
  int epochs = 1;                      // passes over the step's samples
  int critic_warmup = 0;               // ppo: first steps in which only the critic is updated
  double equal_reward_groups = 0;      // grpo: share of groups whose rewards are all equal, without signal
  std::optional<DynamicSampling> dynamic_sampling;
  std::optional<Adapter> adapter;

  int samples() const { return prompts * group_size; }
};

// Whether the job has engines that generate: ppo, grpo and serving; sft and dpo train on a data set.
bool generates(AlgorithmKind k);

// ---- trainer
// ---------------------------------------------------------------------------------------------------
// ddp: PyTorch with whole weights on every rank; on one GPU a plain loop.
enum class TrainerKind { megatron, fsdp2, deepspeed, ddp };
enum class Recompute { none, selective, full };
// How context parallelism meets attention: K and V travel around a ring, or heads are exchanged for tokens.
enum class ContextParallel { ring, ulysses };
// Sequences over data-parallel ranks: contiguous; by length, back and forth; Karmarkar-Karp.
enum class Balance { none, sorted, karmarkar_karp };
// Of an unpacked micro-batch: to its longest sequence, to the longest of the whole batch (NeMo-RL), or to the
// longest that the workload allows (DeepSpeed-Chat).
enum class Padding { longest, batch, maximum };
enum class Fp8Scaling { tensor, block };
// What the loss does with the logits of a micro-batch: PyTorch's operations on all of them; the same on some
// rows at a time; one kernel that overwrites them with their gradient; or the loss and the product over the
// vocabulary together, some of the logits at a time, so that they never exist as a whole.
enum class CrossEntropy { whole, chunked, fused, linear };
// Of a loss on whole logits outside Megatron: the model returns them in fp32; they stay in the weights' type
// and the loss casts them (torch.autocast); the loss works in the weights' type.
enum class LogitsPrecision { fp32, autocast, weights };
// Of the actor's distribution over the vocabulary: not computed, of all tokens of a micro-batch at once, of
// so many rows at a time.
enum class Entropy { none, whole, chunked };
// Element-wise kernels: fused by hand (Megatron, Transformer Engine), by torch.compile, or one per operation.
enum class KernelStack { fused, compiled, eager };

struct Parallel {
  int tp = 1;
  int pp = 1;
  int cp = 1;
  int ep = 1;   // ranks that share the experts
  int etp = 0;  // ranks that cut each expert, of trainers; 0: tp

  int ranks_per_replica() const { return tp * pp * cp; }
  // The experts of a stage lie on a grid of their own over its ranks: expert_tp() ranks next to each other
  // cut an expert, ep such groups share the experts, and this block is repeated over the stage.
  int expert_tp() const { return etp > 0 ? etp : tp; }
  int expert_block() const { return expert_tp() * ep; }
};

// How a trainer's tokens reach their experts: one all-to-all with a copy per expert, or DeepEP's kernels with
// a copy per rank or node.
enum class ExpertDispatch { all_to_all, deepep };

// What lives on the host between (or during) phases.
struct Offload {
  bool parameters = false;
  bool gradients = false;
  bool optimizer = false;
  bool activations = false;  // what a layer keeps for its backward pass, copied out and back meanwhile
};

struct TrainerOptions {
  TrainerKind kind = TrainerKind::megatron;
  Parallel parallel;
  int micro_batch = 1;  // sequences; with packing: packs of max_tokens_per_micro_batch
  int logprob_micro_batch = 1;
  bool packing = false;
  bool equal_packs = false;  // under pipeline parallelism, packs are padded to the longest of their batch
  int pack_tokens =
      0;  // token budget of a packed micro-batch per sequence of micro_batch; 0: longest sequence allowed
  // By a budget of tokens per rank instead of a number of sequences, as verl's use_dynamic_bsz.
  bool dynamic_batching = false;
  // Every data-parallel rank runs as many micro-batches as the fullest; else each as many as it has need of.
  bool equal_micro_batches = true;
  int tokens_per_micro_batch = 16384;
  int logprob_tokens_per_micro_batch = 16384;
  Balance balance = Balance::none;
  Padding padding = Padding::longest;
  int virtual_stages = 1;  // chunks of a rank in an interleaved pipeline
  std::optional<int>
      first_stage_layers;  // of the first and the last pipeline rank; the others share the rest
  std::optional<int> last_stage_layers;
  ContextParallel context_parallel = ContextParallel::ring;
  KernelStack kernels = KernelStack::fused;
  // q, k and v are one product, and have one pair of an adapter (Megatron's always are).
  bool merged_qkv = false;
  Fp8Scaling fp8_scaling = Fp8Scaling::tensor;
  Recompute recompute = Recompute::none;
  bool sequence_parallel = false;
  bool distributed_optimizer = false;    // megatron: optimizer states and masters over dp (ZeRO-1)
  int zero_stage = 0;                    // deepspeed 0-3; fsdp2 is 3
  std::optional<int> critic_zero_stage;  // deepspeed: of critic and reward model; absent: zero_stage
  int shard_ranks = 0;  // ranks that share one copy (FSDP, HSDP, ZeRO); 0: all data-parallel ones
  DType weights = DType::bf16;
  DType gradients = DType::bf16;  // of the accumulation buffer
  bool master_weights = true;     // fp32 copy
  DType optimizer_states = DType::fp32;
  // fsdp2, ddp: Adam by lists of tensors (torch.optim's foreach) rather than in one fused kernel.
  bool foreach_optimizer = false;
  // Each parameter takes its step as soon as its gradient is there, which then goes.
  bool optimizer_in_backward = false;
  // Optimizer states in unified memory (bitsandbytes' paged optimizers): outside PyTorch's allocator, on the
  // GPU as far as it has room.
  bool paged_optimizer = false;
  // Keys and values are copied to every query head before attention.
  bool expand_kv = false;
  bool overlap_gradient_reduce = true;
  bool overlap_parameter_gather = true;
  // Tensor-parallel collectives run in chunks beside the products (Megatron's tp_comm_overlap).
  bool overlap_tensor_parallel = false;
  ExpertDispatch expert_dispatch = ExpertDispatch::all_to_all;
  // Attention by FlashAttention-2 (Hugging Face's flash_attention_2, torch's own), which does not use the
  // matrix instructions of Hopper; false: by kernels that do, where the card has them (FlashAttention-3,
  // cuDNN).
  bool flash_attention_2 = false;
  Bytes bucket = MiB(160);  // gradient bucket of the reduction
  CrossEntropy cross_entropy = CrossEntropy::whole;
  LogitsPrecision logits = LogitsPrecision::fp32;
  bool shifted_labels =
      false;  // of a whole loss on fp32 logits: labels move by one, no copy of the logits does
  Entropy entropy = Entropy::none;
  int entropy_rows = 2048;         // of a chunk
  bool entropy_in_update = false;  // also beside the loss, for a metric
  // fsdp2: embedding and head are modules of their own, gathered when they are used; else with what is left
  // of the model, for the whole pass.
  bool shard_embedding = false;
  // Every optimizer step gathers on a CUDA stream that it makes anew; what was allocated on the old ones is
  // not used again.
  bool fresh_streams = false;
  AllocatorConfig allocator;  // PYTORCH_CUDA_ALLOC_CONF
  Offload offload;
  // deepspeed with offload.optimizer: OpenMP threads of a rank (0: its share of the node's), and whether the
  // gradients' and the weights' copies use page-locked memory.
  int host_threads = 0;
  bool pinned_gradients = true;
  bool pinned_weights = true;
};

// ---- rollout
// ---------------------------------------------------------------------------------------------------
enum class EngineKind { vllm, sglang, trtllm, hf };
// Which engine gets which samples.
enum class EngineBalance { contiguous, round_robin, least_load, by_group };
// Who makes text and log-probabilities of the sampled tokens: an HTTP server, which keeps the engine waiting
// where there are many; a process beside the engine's, meanwhile; the engine's own, between its steps.
enum class FrontEnd { server, apart, in_process };

// draft_tokens are proposed a step; each is accepted with this probability as long as those before it were.
struct Speculation {
  int draft_tokens = 1;
  double acceptance = 0.8;
};

// paged: blocks out of what the engine leaves itself; preallocated: room for max_num_seqs sequences of the
// longest length, from the start.
enum class KvCache { paged, preallocated };

struct EngineOptions {
  EngineKind kind = EngineKind::vllm;
  std::string version;                   // of the engine, "0.3.1"; empty: a current one
  Parallel parallel;                     // tp, pp, ep (cp unused)
  bool data_parallel_attention = false;  // attention replicated over the ranks, experts over all of them
  std::optional<Speculation> speculative;
  int feed = 0;  // samples that an engine is given at a time; 0: all at once
  EngineBalance balance = EngineBalance::contiguous;
  double oversampling = 1;  // prompts started over prompts needed; the phase ends when enough have finished
  bool partial_rollout = false;  // unfinished samples go on in the next step; else they are thrown away
  double gpu_memory_utilization = 0.9;
  KvCache kv = KvCache::paged;
  Bytes kv_cache_bytes;   // of KV pages on a rank, in place of what gpu_memory_utilization leaves; 0: that
  Bytes residue;          // kept asleep beyond context, communicators and graphs; 0: as measured
  int adapter_slots = 0;  // adapters that the engine holds at a time (vLLM's max_loras); 0: as many as needed
  int block_size = 16;    // tokens per KV page
  int max_num_seqs = 1024;
  int max_num_batched_tokens = 8192;
  int max_model_len = 0;  // 0: prompt + response maximum of the workload
  bool chunked_prefill = true;
  bool prefix_caching = true;
  bool cuda_graphs = true;
  bool custom_all_reduce = true;  // small all-reduces within a node by the engine's own kernels; else NCCL's
  bool async_scheduling = false;  // the next step is scheduled while the GPU runs this one
  bool logprobs = false;          // log-probabilities of the sampled tokens are returned
  FrontEnd front_end = FrontEnd::server;
  DType weights = DType::bf16;
  DType kv_cache = DType::bf16;
  int sleep_level = 1;  // colocated: 0 pause only, 1 weights to host, 2 weights dropped
};

// ---- framework
// -------------------------------------------------------------------------------------------------
enum class FrameworkKind { none, verl, openrlhf, slime, areal, trl, nemo_rl, deepspeed_chat };

// When models on other GPUs than the engines' see the samples: all at once when the last is generated; each
// batch that an engine is given (rollout.feed) before it gets the next; as they come, the engines going on.
enum class Experience { step, batch, stream };

// What of the model a rank holds while weights are synced: one tensor at a time; a copy of its own shards
// too, as FSDP's sharded state dict makes them (torch/distributed/fsdp/_shard_utils.py,
// _create_chunk_dtensor: clone); all of it; all of it on the first rank alone.
enum class SyncGather { tensor, shards, whole, first_rank };

// Ranks' processes over the NUMA nodes of a host: evenly, or all on the first.
enum class NumaBinding { spread, first };

// What a framework does around the phases. Fixed times are per occurrence; bytes are priced separately.
struct FrameworkOptions {
  FrameworkKind kind = FrameworkKind::nemo_rl;
  std::vector<Phase> order;        // of one step
  Seconds sleep_fixed;             // engine sleep beyond its bytes
  Seconds wake_fixed;              // engine wake beyond its bytes
  Seconds wake_graphs;             // the same of an engine with CUDA graphs, which it captures or maps anew
  Seconds driver_per_step;         // controller work of one step between rollout and training, GPUs waiting
  Seconds dispatch_per_phase;      // calling the workers of one phase and collecting what they return
  Seconds sync_per_tensor;         // IPC handle, RPC and load of one tensor at weight sync
  bool reference_on_host = true;   // reference weights live in host memory and are swapped in for `reference`
  bool optimizer_offload = true;   // optimizer states leave the GPU outside update
  bool parameters_offload = true;  // trainer weights leave the GPU during generation
  bool pinned_copies = true;       // the trainer's states move through page-locked memory
  Experience experience = Experience::step;
  bool critic_in_background = false;  // the next step's generation does not wait for the critic's update
  // Colocated: the engines start on empty GPUs; else beside what the trainer holds between its phases.
  bool engine_first = true;
  bool wake_by_tags = true;  // weights wake for the sync, KV pages after it; else both for the sync
  SyncGather sync_gather = SyncGather::tensor;
  Bytes sync_gathered;              // by it on a rank; 0: the model in the engine's type
  bool gather_before_wake = false;  // and it is gone when the engine wakes; else the weights wake first
  GatherStream sync_gather_stream = GatherStream::default_stream;
  CommunicatorOptions communicators;
  Bytes sync_communicator;  // to another pool, of the driver, on a rank; 0: one of process_memory.hpp
  Bytes refit_buffer;       // NeMo-RL: of the refit, in place of a share of the free memory; 0: that share
  bool refit_whole_tensors = false;  // a half of it must hold the largest tensor
  bool empty_cache = true;           // PyTorch's free blocks go back to the driver before an engine wakes
  // Copies of a whole trained model that a rank holds on the host while it is loaded (DeepSpeed below stage
  // 3: the tensors and the flat buffer); a frozen model then has one.
  int load_copies = 0;
  NumaBinding numa = NumaBinding::spread;
  // The optimizer's states and the trainer's weights leave the GPU with the weight sync, and stay where there
  // is none (NeMo-RL before pull request 1159); else whenever the engine wakes.
  bool offload_with_sync = false;
  double host_memory_share = 1;  // of a node's memory, beyond which the launcher ends processes
  // One driver calls the workers, which are idle between its calls; else every rank runs the whole loop, and
  // who has nothing to do waits for the others in a collective.
  bool single_controller = true;
  // Whether c10d times the group of a weight sync between pools (NCCL without c10d has no timer).
  bool sync_watchdog = false;
};

// ---- workload and schedule
// -------------------------------------------------------------------------------------
struct Workload {
  Lengths prompt_tokens;
  Lengths response_tokens;
  // Of the normal scores of two answers to one prompt: hard prompts have long answers. 0: independent.
  double sibling_correlation = 0;
};

enum class ScheduleKind { synchronous, one_step_off, async };
// How many samples may be under way: each framework counts differently (models/admission.hpp).
enum class QueueRule { verl, areal, slime, nemo_rl };

struct AsyncOptions {
  QueueRule queue = QueueRule::areal;
  double max_staleness = 1;     // versions; verl's staleness_threshold is a fraction of a version's samples
  int sync_every = 1;           // steps from one weight sync to the next
  int parts_per_step = 1;       // a step takes its samples in so many parts, each as soon as it is there
  bool partial_rollout = true;  // a sync interrupts what is under way; it goes on with the new weights
  bool in_flight_updates = false;  // weights change between two decode steps; KV stays
  int max_concurrent = 0;          // samples under way at most; 0: what the rule allows
};

// Every so many steps the engine generates for prompts that nothing is trained on; 0: never.
struct ValidationOptions {
  int every = 0;
  int prompts = 64;
  bool before_sync = false;  // right after the update, with the weights of the step before; else at the end
};

struct Schedule {
  ScheduleKind kind = ScheduleKind::synchronous;
  AsyncOptions async;
};

// ---- scoring
// ---------------------------------------------------------------------------------------------------
// Log-normal with this mean and 95th percentile; fixed where p95 is 0.
struct ServiceTime {
  Seconds mean;
  Seconds p95;
};

struct Sandbox {
  int workers = 64;
  ServiceTime seconds;
  Seconds timeout;  // 0: none
};

// A sample takes turns with a tool: its response is cut into `turns` parts with an observation between two.
struct Environment {
  int turns = 1;
  int observation_tokens = 0;
  ServiceTime tool;
  bool keep_kv = false;  // during the pause of a tool call
};

struct Scoring {
  Seconds seconds_per_sample;  // by rule, on a CPU worker
  int workers = 1;             // 1: in the driver, one after another
  std::optional<Sandbox> sandbox;
  std::optional<Environment> environment;
  Seconds timeout;        // of a sample by rule, which then counts as scored; 0: none
  bool overlap = false;   // samples are scored as they finish
  int padded_tokens = 0;  // critic and reward model see sequences padded to this; 0: as the trainer pads
};

// ---- pools
// ---------------------------------------------------------------------------------------------------
// GPUs given to roles. A pool of part of a node has a node with as many GPUs.
struct Pool {
  std::string name;
  ClusterSpec cluster;
  bool part_of_node = false;
};

// Index into Job::pools of each role.
struct RolePools {
  int actor = 0;
  int critic = 0;
  int reference = 0;
  int reward = 0;
  int rollout = 0;
};

// ---- the whole job
// ---------------------------------------------------------------------------------------------
struct Job {
  Architecture model;
  std::optional<Architecture> critic;        // ppo; absent: the actor's architecture
  std::optional<Architecture> reward_model;  // absent: the actor's architecture
  ClusterSpec cluster;                       // without pools every role runs on all of it
  std::vector<Pool> pools;
  RolePools role_pools;
  int only_pool = -1;  // a view of one pool (models/pools.hpp): other pools' roles are not there
  FrameworkOptions framework;
  Algorithm algorithm;
  Workload workload;
  TrainerOptions train;
  EngineOptions rollout;
  Schedule schedule;
  WeightSyncOptions weight_sync;
  Scoring score;
  ValidationOptions validation;
  CheckpointOptions checkpoint;
  WatchdogOptions watchdog;
  LauncherOptions launcher;
  NetworkOptions network;
  std::vector<Fault> faults;
  std::optional<ReliabilityOptions> reliability;
  std::optional<ServeOptions> serve;  // algorithm.kind is serve then
};

// Data-parallel replicas of the trainer: gpus / (tp x pp x cp). The scenario checks guarantee that it
// divides.
int data_parallel(Job const& job);
// Ranks of a stage that hold the same part of the experts: tp x cp x dp / (etp x ep), at least 1.
int expert_data_parallel(Job const& job);
// Rollout engines of the cluster: gpus / (tp x pp).
int rollout_engines(Job const& job);

// Names as they stand in scenario files and reports.
std::string_view name_of(DType v);
std::string_view name_of(AlgorithmKind v);
std::string_view name_of(AdapterKind v);
std::string_view name_of(TrainerKind v);
std::string_view name_of(Recompute v);
std::string_view name_of(CrossEntropy v);
std::string_view name_of(LogitsPrecision v);
std::string_view name_of(EngineKind v);
std::string_view name_of(FrameworkKind v);
std::string_view name_of(ScheduleKind v);
std::string_view name_of(AdapterSync v);
std::string_view name_of(Quantization v);
std::string_view name_of(ContextParallel v);
std::string_view name_of(Balance v);
std::string_view name_of(Padding v);
std::string_view name_of(Fp8Scaling v);
std::string_view name_of(KernelStack v);
std::string_view name_of(EngineBalance v);
std::string_view name_of(FrontEnd v);
std::string_view name_of(ExpertDispatch v);
std::string_view name_of(KvCache v);
std::string_view name_of(QueueRule v);
std::string_view name_of(Experience v);
std::string_view name_of(Entropy v);
std::string_view name_of(SyncGather v);
std::string_view name_of(NumaBinding v);

}  // namespace rollcast
