#include "models/engine_defaults.hpp"

#include <algorithm>

#include "models/engine_versions.hpp"

namespace rollcast {
namespace {

constexpr std::string_view kVllmLarge =
    "vLLM vllm/engine/arg_utils.py, get_batch_defaults: limits of the LLM class for cards of 70 GiB and more "
    "but "
    "the A100; graphs: vllm/config, _set_cudagraph_sizes, min(2 x max_num_seqs, 512)";
constexpr std::string_view kVllm =
    "vLLM vllm/engine/arg_utils.py, get_batch_defaults: limits of the LLM class for cards below 70 GiB and "
    "the "
    "A100; graphs: vllm/config, _set_cudagraph_sizes, min(2 x max_num_seqs, 512)";
constexpr std::string_view kFirstVllm =
    "vLLM before 0.8: vllm/engine/arg_utils.py, create_engine_config; vllm/config.py, SchedulerConfig";
constexpr std::string_view kSglang =
    "SGLang python/sglang/srt/server_args.py: chunked_prefill_size, cuda_graph_max_bs and "
    "mem_fraction_static by "
    "the card's memory and tp, page_size 1; model_runner.py: at least 2,048 requests";
constexpr std::string_view kTrtllm =
    "TensorRT-LLM tensorrt_llm/builder.py, BuildConfig: max_batch_size 2048, max_num_tokens 8192; "
    "llmapi/llm_args.py: KvCacheConfig.free_gpu_memory_fraction 0.9, tokens_per_block 32, CudaGraphConfig up "
    "to "
    "128, overlap scheduler on";
constexpr std::string_view kHuggingFace =
    "transformers generate has no scheduler: a call is one batch; the numbers are those of vLLM";

EngineDefaults vllm(Gpu const& gpu) {
  // The names of the catalog start with the card's: a100-sxm-80gb, a100-pcie-80gb.
  bool const a100 = gpu.name.rfind("a100", 0) == 0;
  bool const large = gpu.visible_memory >= GiB(70) && !a100;
  return {large ? 1024 : 256, large ? 16384 : 8192, 16, 512, 0.9, false, large ? kVllmLarge : kVllm};
}

// Thresholds in MiB of the driver's total, which is what a process sees and a little more.
EngineDefaults sglang(Gpu const& gpu, int tp) {
  double const total = gpu.visible_memory / MiB(1);
  bool const wide = tp >= 4;
  EngineDefaults d{2048, 8192, 1, wide ? 512 : 256, 0, true, kSglang};
  if (total < 20 * 1024) {
    d.max_num_batched_tokens = 2048;
    d.cuda_graph_tokens = 8;
  } else if (total < 35 * 1024) {
    d.max_num_batched_tokens = 2048;
    d.cuda_graph_tokens = wide ? 80 : 24;
  } else if (total < 60 * 1024) {
    d.max_num_batched_tokens = 4096;
    d.cuda_graph_tokens = wide ? 160 : 32;
  } else if (total >= 160 * 1024) {
    d.max_num_batched_tokens = 16384;
    d.cuda_graph_tokens = 512;
  }
  EngineOptions e;
  e.parallel.tp = tp;
  e.max_num_batched_tokens = d.max_num_batched_tokens;
  d.gpu_memory_utilization = sglang_static_fraction(gpu, e, d.cuda_graph_tokens);
  return d;
}

}  // namespace

double sglang_static_fraction(Gpu const& gpu, EngineOptions const& e, int graph_tokens) {
  double const total = gpu.visible_memory / MiB(1);
  double const prefill = e.chunked_prefill ? e.max_num_batched_tokens : 0;
  double reserve = 512 + 1.5 * std::max(prefill, 2048.0) + 2 * graph_tokens +
                   static_cast<double>(e.parallel.tp) * e.parallel.pp / 8 * 1024;
  if (e.data_parallel_attention) reserve += (graph_tokens > 300 ? 4.5 : 3) * graph_tokens * e.parallel.tp;
  if (e.speculative) reserve += 2 * 1024;
  if (total > 60 * 1024) reserve = std::max(reserve, 10.0 * 1024);
  return (total - reserve) / total;
}

EngineDefaults engine_defaults(EngineKind engine, Gpu const& gpu, int tp) {
  switch (engine) {
    case EngineKind::vllm:
      return vllm(gpu);
    case EngineKind::sglang:
      return sglang(gpu, tp);
    case EngineKind::trtllm:
      return {2048, 8192, 32, 128, 0.9, true, kTrtllm};
    case EngineKind::hf:
      break;
  }
  EngineDefaults d = vllm(gpu);
  d.cuda_graph_tokens = 0;
  d.source = kHuggingFace;
  return d;
}

EngineDefaults engine_defaults(EngineKind engine, std::string_view version, Gpu const& gpu, int tp,
                               int context) {
  EngineDefaults d = engine_defaults(engine, gpu, tp);
  if (!is_first_vllm(engine, version)) return d;
  constexpr int kLongContext = 32768;
  constexpr int kPiece = 2048;
  d.max_num_seqs = 256;
  d.chunked_prefill = context > kLongContext && chunks_long_contexts(version);
  d.max_num_batched_tokens = d.chunked_prefill ? kPiece : std::max(context, kPiece);
  d.source = kFirstVllm;
  return d;
}

}  // namespace rollcast
