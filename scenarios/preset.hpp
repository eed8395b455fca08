// What a framework or an engine sets where the scenario does not, as tables: key, value, source.
#pragma once

#include <string_view>
#include <vector>

#include "models/hardware.hpp"
#include "models/job.hpp"

namespace rollcast {

struct PresetValue {
  std::string_view key;    // "framework.wake_fixed"
  std::string_view value;  // as it would stand in a file
  std::string_view source;
};

// nemo_rl: its defaults for that algorithm and trainer. none and every framework without a preset: nothing.
std::vector<PresetValue> framework_preset(FrameworkKind framework, AlgorithmKind algorithm,
                                          TrainerKind trainer);

// The trainer that a framework takes when the scenario names none.
TrainerKind default_trainer(FrameworkKind framework);

bool has_preset(FrameworkKind framework);

// Every framework that the language knows.
std::vector<FrameworkKind> const& known_frameworks();

// vLLM's own limits for a card, when used as a library.
struct EngineLimits {
  int max_num_seqs = 0;
  int max_num_batched_tokens = 0;
  std::string_view source;
};
EngineLimits vllm_limits(Gpu const& gpu);

}  // namespace rollcast
