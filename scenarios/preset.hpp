// What a framework or an engine sets where the scenario does not, as tables: key, value, source.
// presets/ holds one table per framework.
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

// How the engines and the trainer share GPUs and time: on the same ones in turn; on their own ones in turn;
// at the same time one step apart; at the same time behind a queue.
enum class PresetMode { colocated, separate, one_step_off, async };

// The mode of a scenario with this schedule; `pools`: whether the engines have GPUs of their own.
PresetMode preset_mode(ScheduleKind schedule, bool pools);

// The framework's defaults for that algorithm, trainer and mode; spread_experts: with expert parallelism.
// FrameworkKind::none, and an algorithm that the framework does not have: nothing. A trainer or a mode that
// it does not have: what does not depend on it.
std::vector<PresetValue> framework_preset(FrameworkKind framework, AlgorithmKind algorithm,
                                          TrainerKind trainer, PresetMode mode = PresetMode::colocated,
                                          bool spread_experts = false);

// The trainer that a framework takes when the scenario names none.
TrainerKind default_trainer(FrameworkKind framework);

// What the framework has; FrameworkKind::none has none of its own. The first one is its usual one.
std::vector<AlgorithmKind> preset_algorithms(FrameworkKind framework);
std::vector<TrainerKind> preset_trainers(FrameworkKind framework);
std::vector<PresetMode> preset_modes(FrameworkKind framework);

// Every framework that the language knows.
std::vector<FrameworkKind> const& known_frameworks();

// A key that two tables set differently. value and source are empty where a table leaves the key to the
// default.
struct PresetDifference {
  std::string_view key;
  std::string_view value_a;
  std::string_view value_b;
  std::string_view source_a;
  std::string_view source_b;
};

// In the order of a's keys, then of those that only b has.
std::vector<PresetDifference> preset_differences(std::vector<PresetValue> const& a,
                                                 std::vector<PresetValue> const& b);
// What the same scenario differs in under two frameworks, and why.
std::vector<PresetDifference> preset_differences(FrameworkKind a, FrameworkKind b, AlgorithmKind algorithm,
                                                 TrainerKind trainer,
                                                 PresetMode mode = PresetMode::colocated);

std::string_view name_of(PresetMode mode);

}  // namespace rollcast
