// What changes with an engine's release: its own work beside its kernels (engines of 2023 prepare every step
// in Python while the GPU waits, later ones do less of it), how it sizes its KV pages, which steps prompts
// run in and how adapters run.
#pragma once

#include <string_view>

#include "models/engine_overhead.hpp"

namespace rollcast {

// Generations with numbers of their own: vLLM before 0.6 (no overlap of output and scheduling), and Hugging
// Face generate. nullptr: what the profile says of the engine holds. `version` is "0.3.1"; empty: a current
// one.
EngineOverhead const* overhead_of_version(EngineKind engine, std::string_view version);

// What counts against gpu_memory_utilization when a release of vLLM sizes its KV pages. Weights, PyTorch's
// peak in the start-up profile and the engine's own growth outside PyTorch always do.
struct KvSizing {
  bool whole_card = false;   // all else in use on the card too, whoever holds it
  bool start_check = false;  // refuses to start where less is free than it asks for
  bool graphs = false;       // an estimate of the CUDA graphs, which are captured afterwards, too
  // In a sleep pool, fp8 weights that loading replaces are unmapped, but still count as PyTorch's: the growth
  // outside PyTorch comes out too small by one copy of them, and KV that much larger.
  bool replaced_weights_count_twice = false;
};

// Releases of vLLM; empty: a current one.
//   to 0.6.3         own growth: peak = free at the start - free after the profile (pull 2863;
//                    vllm/worker/worker.py@002a0ba9)
//   0.6.4            whole card (issue 10451)
//   0.6.5 to 0.7     own growth (pulls 10511, 12126: V0)
//   0.8 to 0.9.0     whole card (V1: vllm/v1/worker/gpu_worker.py@0012cf69; pull 19312 names the fault)
//   0.9.1 to 0.20    own growth, start check (issue 20305; pulls 18974, 19312; gpu_worker.py@35d5cda1)
//   from 0.21        the same and the graphs (its own log line: default since 0.21.0; pull 30515); replaced
//                    weights: issue 40256 and pull 40258 for the cause, pull 49151 for one whole copy, NeMo
//                    RL pull 3280 for releases: not in 0.20.0, in 0.25.1
// Other engines: own growth alone.
KvSizing kv_sizing(EngineKind engine, std::string_view version);

// vLLM before 0.8, and of it the releases that cut the prompts of long contexts into chunks by themselves.
bool is_first_vllm(EngineKind engine, std::string_view version);
bool chunks_long_contexts(std::string_view version);

// Whether prompts have steps of their own, before which decoding waits: vLLM before 0.8 (V1) where it does
// not cut prompts into chunks (vllm/core/scheduler.py, _schedule_default).
bool prompts_apart(EngineOptions const& e);

// How a release runs adapters that it keeps apart from the weights (models/adapter_kernels.hpp).
struct AdapterRelease {
  // Beside every projection that it wraps, whatever an adapter targets; else beside those of some adapter.
  bool everywhere = false;
  bool fused = false;  // q, k and v share their two kernels, gate and up too
  Seconds launches;    // host time of what runs beside one product outside CUDA graphs
};

// vLLM wraps all projections that a model supports (vllm/lora/models.py, _create_lora_modules;
// model_manager.py later) and, of a step without any adapter alone, skips the kernels.
//   to 0.5.3       kernels in CUDA: three launches at the 21 us of the early releases
//   0.5.4 to 0.6   Triton (pull 5036), slices apart (vllm/lora/punica.py, add_lora_packed_nslice), registered
//                  with torch.library.custom_op: issue 11436, Llama-2-7B under PyTorch's profiler, 105 ms a
//                  prefill and 25 ms without an adapter, over 7 x 32 products. Not used, agrees: pull 10957,
//                  V1 then without CUDA graphs, 82.6 s of some 1,040 steps up to the longest of 200 answers
//   0.7            fused and registered directly (pull 11234): two launches of 21 us, of which Triton 15 us
//                  (triton pull 3649) and the dispatcher 6.3 us (pytorch issue 177109)
//   from 0.8       V1: prompts replay graphs, longer ones hide their launches
// Other engines: fused, beside targets alone, launches as of vLLM 0.7 (assumed; SGLang runs prompts with
// adapters without graphs, pull 30988).
AdapterRelease adapter_release(EngineKind engine, std::string_view version);

// Hugging Face generate keeps the cache of the step before beside the new one until a forward returns
// (transformers before 4.42 hand it over as tuples); later the cache is updated layer by layer.
bool keeps_old_cache(std::string_view version);
// It computes the logits of all positions of the prompts, not of the last alone (transformers before 4.45:
// num_logits_to_keep).
bool keeps_prompt_logits(std::string_view version);

}  // namespace rollcast
