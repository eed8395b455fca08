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
};

// tp: ranks of one engine. Used as a library where an engine tells that from a server.
EngineDefaults engine_defaults(EngineKind engine, Gpu const& gpu, int tp);

}  // namespace rollcast
