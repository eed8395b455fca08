// What a rollout engine's own work adds to its kernels, by engine: the part of a step that the GPU waits for,
// and the launches of steps that run without CUDA graphs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/architecture.hpp"
#include "models/job.hpp"
#include "models/units.hpp"

namespace rollcast {

struct EngineOverhead {
  EngineKind engine = EngineKind::vllm;
  Seconds step;          // of every step: scheduling, sampling, output, what the kernel tables leave out
  Seconds per_sequence;  // and of each sequence in it
  // Of one launch outside a CUDA graph, the interpreter's work included. Steps with prompt tokens run so. 0:
  // hidden behind the GPU, or not known.
  Seconds launch;
  std::string source;
};

// With every time of it multiplied.
EngineOverhead scaled(EngineOverhead o, double factor);

// nullptr: not known.
EngineOverhead const* find_overhead(std::vector<EngineOverhead> const& all, EngineKind engine);

// A step with prompt tokens takes at least its launches: those of a layer's forward (LayerShape::kernels)
// over all layers.
Seconds least_prefill_step(EngineOverhead const& o, Architecture const& a);

// A line per engine: engine NAME STEP_us PER_SEQUENCE_us LAUNCH_us # SOURCE
std::string to_text(std::vector<EngineOverhead> const& all);
Parsed<std::vector<EngineOverhead>> engine_overheads_from_text(std::string_view text);

}  // namespace rollcast
