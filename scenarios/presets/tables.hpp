// The table of each framework, and the rows that more than one of them has. Every number names the file that
// it was read in (repository, commit where it matters), the measurement that it was derived from, or what is
// assumed.
#pragma once

#include <initializer_list>
#include <string_view>
#include <vector>

#include "scenarios/preset.hpp"

namespace rollcast {

struct PresetCase {
  AlgorithmKind algorithm;
  TrainerKind trainer;
  PresetMode mode;
  bool spread_experts = false;
};

std::vector<PresetValue> nemo_rl_preset(PresetCase const& c);
std::vector<PresetValue> verl_preset(PresetCase const& c);
std::vector<PresetValue> openrlhf_preset(PresetCase const& c);
std::vector<PresetValue> slime_preset(PresetCase const& c);
std::vector<PresetValue> areal_preset(PresetCase const& c);
std::vector<PresetValue> trl_preset(PresetCase const& c);
std::vector<PresetValue> deepspeed_chat_preset(PresetCase const& c);

inline void add(std::vector<PresetValue>& table, std::initializer_list<PresetValue> rows) {
  table.insert(table.end(), rows);
}

// ---- shared rows
// -------------------------------------------------------------------------------------------------------

// Every rank runs the whole loop under torchrun or a launcher that behaves like it.
inline constexpr PresetValue kNoController = {"framework.single_controller", "false",
                                              "every rank runs the script; there is no driver"};
inline constexpr PresetValue kTorchrun = {
    "launcher.kind", "torchrun", "accelerate launch, deepspeed: one process a rank, ended with the first"};

// vLLM blog on sleep mode, level 1, Qwen3-Coder-30B-A3B (30.53e9 parameters, 61.1 GB in bf16) on one A100:
// sleep 2.78 s, wake 2.85 s. At the 26.2 GB/s that nvbandwidth shows for pinned copies on an A100 the bytes
// take 2.33 s.
inline constexpr PresetValue kVllmSleep = {
    "framework.sleep_fixed", "0.45 s",
    "vLLM blog on sleep mode (A100, 61.1 GB): 2.78 s less 2.33 s of copying at 26.2 GB/s"};
inline constexpr PresetValue kVllmWake = {
    "framework.wake_fixed", "0.52 s",
    "vLLM blog on sleep mode (A100, 61.1 GB): 2.85 s less 2.33 s of copying at 26.2 GB/s"};

// Least squares of seconds = a x tensors + b x bytes through three reshards of verl PR 116 (8 x L20, TP4):
// Qwen2.5-3B 434 tensors 6.2 GB 0.236 s, Qwen2.5-7B 339 tensors 15.2 GB 0.547 s, Llama-3-8B 291 tensors 16.1
// GB 0.570 s: a = 0.05 ms, b = 35 ms per GB.
inline constexpr PresetValue kSyncByHandle = {
    "framework.sync_per_tensor", "0.05 ms",
    "verl PR 116, three FSDP to vLLM reshards: 0.05 ms per tensor beside the bytes"};

// A Megatron trainer exports one tensor after another (broadcast over the stages, gathers, names).
inline constexpr PresetValue kSyncByExport = {
    "framework.sync_per_tensor", "0.83 ms",
    "verl docs/advance/fully_async.md: Qwen3-30B-A3B from a "
    "Megatron trainer, 18,867 tensors in 15.76 s without "
    "the checkpoint engine; the bytes, some 1.2 s, travel meanwhile"};

// One call to the engines and one broadcast per tensor. TRL PR 5249: Qwen2-0.5B (290 tensors, 1 GB) in 0.6 s,
// of which the bytes take about 0.04 s: 1.9 ms. open-instruct PR 1535 tells that the same loop over Ray is
// bound by its calls as well.
inline constexpr std::string_view kSyncByCall =
    "TRL PR 5249: 0.6 s for the 290 tensors of Qwen2-0.5B, one request and one broadcast each";

inline constexpr PresetValue kHfAttention = {"train.flash_attention_2", "true",
                                             "Hugging Face models run attention by flash_attn 2, or by "
                                             "PyTorch's scaled_dot_product_attention, whose flash "
                                             "backend is FlashAttention-2"};

// DeepSpeed config.py: DeepSpeedZeroConfig.reduce_bucket_size 5e8 elements; engine.py get_data_types:
// gradients have the model's type where ZeRO runs and grad_accum_dtype is not given.
inline constexpr PresetValue kDeepspeedBucket = {
    "train.bucket", "1 GB", "DeepSpeed runtime/zero/config.py: reduce_bucket_size 5e8 elements, 2 B each"};
inline constexpr std::string_view kDeepspeedGradients =
    "DeepSpeed runtime/engine.py get_data_types: without grad_accum_dtype the model's type";
inline constexpr std::string_view kDeepspeedOverlap =
    "DeepSpeed runtime/zero/config.py: overlap_comm defaults to true for stage 3 and false below";

// Ray ends the newest worker of a node beyond this share of its memory.
inline constexpr PresetValue kRayMemory = {"framework.host_memory_share", "0.95",
                                           "Ray docs, ray-oom-prevention: RAY_memory_usage_threshold 0.95"};

// Megatron Core DistributedDataParallelConfig.
inline constexpr std::string_view kMegatronKernels =
    "Megatron Core with Transformer Engine: fused norms, SwiGLU and rotary embedding";
inline constexpr std::string_view kHfKernels =
    "Hugging Face modules in eager PyTorch; only attention is a fused kernel (FlashAttention)";

}  // namespace rollcast
