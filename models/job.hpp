// The job: algorithm, trainer, rollout engine, lengths and schedule, as plain options.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/architecture.hpp"
#include "models/hardware.hpp"
#include "models/lengths.hpp"
#include "models/units.hpp"

namespace rollcast {

enum class DType { fp32, bf16, fp16, fp8 };
Bytes size_of(DType d);

// ---- algorithm
// -------------------------------------------------------------------------------------------------
enum class AlgorithmKind { sft, dpo, ppo, grpo };
enum class AdapterKind { lora, qlora };

struct Adapter {
  AdapterKind kind = AdapterKind::lora;
  int rank = 16;
  std::vector<std::string> targets;  // of q, k, v, o, gate, up, down
  bool block_constants = true;       // QLoRA: NF4 with one fp32 constant per 64 weights
  bool double_quantization = false;  // QLoRA: those constants quantized in turn
};

struct Algorithm {
  AlgorithmKind kind = AlgorithmKind::grpo;
  int prompts = 0;      // per step (sft, dpo: unused)
  int group_size = 1;   // samples per prompt
  int train_batch = 0;  // samples (dpo: pairs) per optimizer step
  bool kl_reference = false;
  int epochs = 1;  // passes over the step's samples
  std::optional<Adapter> adapter;

  int samples() const { return prompts * group_size; }
};

// ---- trainer
// ---------------------------------------------------------------------------------------------------
enum class TrainerKind { megatron, fsdp2, deepspeed };
enum class Recompute { none, selective, full };

struct Parallel {
  int tp = 1;
  int pp = 1;
  int cp = 1;
  int ep = 1;

  int ranks_per_replica() const { return tp * pp * cp; }  // ep divides data-parallel ranks
};

// What lives on the host between (or during) phases.
struct Offload {
  bool parameters = false;
  bool gradients = false;
  bool optimizer = false;
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
  Recompute recompute = Recompute::none;
  bool sequence_parallel = false;
  bool distributed_optimizer = false;  // megatron: optimizer states and masters over dp (ZeRO-1)
  int zero_stage = 0;                  // deepspeed 0-3; fsdp2 is 3
  DType weights = DType::bf16;
  DType gradients = DType::bf16;  // of the accumulation buffer
  bool master_weights = true;     // fp32 copy
  DType optimizer_states = DType::fp32;
  bool overlap_gradient_reduce = true;
  bool overlap_parameter_gather = true;
  Bytes bucket = MiB(160);           // gradient bucket of the reduction
  bool fused_cross_entropy = false;  // no fp32 logits copy is materialised
  Offload offload;
};

// ---- rollout
// ---------------------------------------------------------------------------------------------------
enum class EngineKind { vllm, sglang, trtllm, hf };

struct EngineOptions {
  EngineKind kind = EngineKind::vllm;
  Parallel parallel;  // tp, pp (cp unused)
  double gpu_memory_utilization = 0.9;
  int block_size = 16;  // tokens per KV page
  int max_num_seqs = 1024;
  int max_num_batched_tokens = 8192;
  int max_model_len = 0;  // 0: prompt + response maximum of the workload
  bool chunked_prefill = true;
  bool prefix_caching = true;
  bool cuda_graphs = true;
  bool async_scheduling = false;  // the next step is scheduled while the GPU runs this one
  bool logprobs = false;          // log-probabilities of the sampled tokens are returned
  DType weights = DType::bf16;
  DType kv_cache = DType::bf16;
  int sleep_level = 1;  // colocated: 1 weights to host, 2 weights dropped
};

// ---- framework
// -------------------------------------------------------------------------------------------------
enum class FrameworkKind { none, verl, openrlhf, slime, areal, trl, nemo_rl, deepspeed_chat };

enum class Phase {
  wake,
  generate,
  sleep,
  score,
  old_logprob,
  reference,
  values,
  advantage,
  update_critic,
  update_actor,
  weight_sync,
  checkpoint
};

// What a framework does around the phases. Fixed times are per occurrence; bytes are priced separately.
struct FrameworkOptions {
  FrameworkKind kind = FrameworkKind::nemo_rl;
  std::vector<Phase> order;        // of one step
  Seconds sleep_fixed;             // engine sleep beyond its bytes
  Seconds wake_fixed;              // engine wake beyond its bytes
  Seconds driver_per_step;         // controller work of one step between rollout and training, GPUs waiting
  Seconds reward_per_sample;       // rule scoring in the driver
  Seconds sync_per_tensor;         // IPC handle, RPC and load of one tensor at weight sync
  bool reference_on_host = true;   // reference weights live in host memory and are swapped in for `reference`
  bool optimizer_offload = true;   // optimizer states leave the GPU outside update
  bool parameters_offload = true;  // trainer weights leave the GPU during generation
};

// ---- workload and schedule
// -------------------------------------------------------------------------------------
struct Workload {
  Lengths prompt_tokens;
  Lengths response_tokens;
};

enum class ScheduleKind { synchronous, one_step_off, async };

struct Schedule {
  ScheduleKind kind = ScheduleKind::synchronous;
};

// ---- the whole job
// ---------------------------------------------------------------------------------------------
struct Job {
  Architecture model;
  std::optional<Architecture> critic;        // ppo; absent: the actor's architecture
  std::optional<Architecture> reward_model;  // ppo; absent: the actor's architecture
  ClusterSpec cluster;
  FrameworkOptions framework;
  Algorithm algorithm;
  Workload workload;
  TrainerOptions train;
  EngineOptions rollout;
  Schedule schedule;
};

// Data-parallel replicas of the trainer: gpus / (tp x pp x cp). The scenario checks guarantee that it
// divides.
int data_parallel(Job const& job);
// Rollout engines of the cluster: gpus / (tp x pp).
int rollout_engines(Job const& job);

// Names as they stand in scenario files and reports.
std::string_view name_of(DType v);
std::string_view name_of(AlgorithmKind v);
std::string_view name_of(AdapterKind v);
std::string_view name_of(TrainerKind v);
std::string_view name_of(Recompute v);
std::string_view name_of(EngineKind v);
std::string_view name_of(FrameworkKind v);
std::string_view name_of(Phase v);
std::string_view name_of(ScheduleKind v);

}  // namespace rollcast
