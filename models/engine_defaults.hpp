// What each engine sets for a card when nobody says otherwise: limits of its scheduler, pages, CUDA graphs.
#pragma once

#include <string_view>

#include "models/hardware.hpp"
#include "models/job.hpp"

namespace rollcast {

struct EngineDefaults {
  int max_num_seqs = 0;
  int max_num_batched_tokens = 0;
  int block_size = 0;  // tokens per KV page
  int cuda_graph_tokens =
      0;  // largest step that is replayed from a graph; vLLM: at most 2 x max_num_seqs too
  double gpu_memory_utilization = 0;  // SGLang: mem_fraction_static
  bool async_scheduling = false;      // the next step is scheduled while the GPU runs this one
  std::string_view source;
  bool chunked_prefill = true;
};

// SGLang's mem_fraction_static where it is not given (python/sglang/srt/server_args.py): card less reserve,
//   reserve = 512 + 1.5 max(chunked prefill, 2048) + 2 x graph tokens + tp x pp / 8 x 1024 MiB
//             + 3 x graph tokens x tp with data-parallel attention (4.5 x from 300 graph tokens on)
//             + 2 GiB with speculative decoding,
// at least 10 GiB on cards over 60 GiB. Chunked prefill is max_num_batched_tokens. (0.88 where SGLang does
// not know the card's memory, which does not happen here; 2 GiB for DeepEP, which has no option here.)
double sglang_static_fraction(Gpu const& gpu, EngineOptions const& e, int graph_tokens);

// tp: ranks of one engine. Used as a library where an engine tells that from a server.
EngineDefaults engine_defaults(EngineKind engine, Gpu const& gpu, int tp);

// The same of a release, for a model of this context. vLLM before 0.8 (its first engine,
// vllm/engine/arg_utils.py and SchedulerConfig of vllm/config.py): 256 sequences; contexts of up to 32,768
// tokens, and all before 0.5.4, without chunked prefill, with as many tokens a step as the context, at least
// 2,048; longer ones in pieces of 2,048.
EngineDefaults engine_defaults(EngineKind engine, std::string_view version, Gpu const& gpu, int tp,
                               int context);

}  // namespace rollcast
