// What an engine's own work adds to its kernels, by the release: engines of 2023 prepare every step in Python
// while the GPU waits, later ones do less of it.
#pragma once

#include <string_view>

#include "models/engine_overhead.hpp"

namespace rollcast {

// Generations with numbers of their own: vLLM before 0.6 (no overlap of output and scheduling), and Hugging
// Face generate. nullptr: what the profile says of the engine holds. `version` is "0.3.1"; empty: a current
// one.
EngineOverhead const* overhead_of_version(EngineKind engine, std::string_view version);

}  // namespace rollcast
