#include "scenarios/preset.hpp"

#include <algorithm>

#include "scenarios/presets/tables.hpp"

namespace rollcast {
namespace {

using Table = std::vector<PresetValue> (*)(PresetCase const&);

struct PresetEntry {
  FrameworkKind framework;
  Table table;
  std::vector<AlgorithmKind> algorithms;
  std::vector<TrainerKind> trainers;
  std::vector<PresetMode> modes;
};

std::vector<PresetEntry> const& entries() {
  using enum AlgorithmKind;
  using enum PresetMode;
  using T = TrainerKind;
  static std::vector<PresetEntry> const all = {
      {FrameworkKind::nemo_rl,
       nemo_rl_preset,
       {grpo, ppo, dpo, sft},
       {T::fsdp2, T::megatron},
       {colocated, separate, async}},
      {FrameworkKind::verl,
       verl_preset,
       {grpo, ppo, sft},
       {T::fsdp2, T::megatron},
       {colocated, one_step_off, async}},
      {FrameworkKind::openrlhf,
       openrlhf_preset,
       {ppo, grpo, dpo, sft},
       {T::deepspeed},
       {colocated, separate, async}},
      {FrameworkKind::slime,
       slime_preset,
       {grpo, ppo, sft},
       {T::megatron},
       {colocated, separate, one_step_off}},
      {FrameworkKind::areal, areal_preset, {grpo, ppo, sft}, {T::fsdp2, T::megatron}, {async, separate}},
      {FrameworkKind::trl,
       trl_preset,
       {grpo, dpo, sft},
       {T::deepspeed, T::fsdp2, T::ddp},
       {colocated, separate}},
      {FrameworkKind::deepspeed_chat, deepspeed_chat_preset, {ppo, dpo, sft}, {T::deepspeed}, {colocated}},
  };
  return all;
}

PresetEntry const* entry_of(FrameworkKind framework) {
  auto const it = std::find_if(entries().begin(), entries().end(),
                               [&](PresetEntry const& e) { return e.framework == framework; });
  return it == entries().end() ? nullptr : &*it;
}

PresetValue const* find(std::vector<PresetValue> const& table, std::string_view key) {
  auto const it =
      std::find_if(table.begin(), table.end(), [&](PresetValue const& v) { return v.key == key; });
  return it == table.end() ? nullptr : &*it;
}

}  // namespace

PresetMode preset_mode(ScheduleKind schedule, bool pools) {
  if (schedule == ScheduleKind::async) return PresetMode::async;
  if (schedule == ScheduleKind::one_step_off) return PresetMode::one_step_off;
  return pools ? PresetMode::separate : PresetMode::colocated;
}

std::vector<PresetValue> framework_preset(FrameworkKind framework, AlgorithmKind algorithm,
                                          TrainerKind trainer, PresetMode mode, bool spread_experts) {
  PresetEntry const* e = entry_of(framework);
  if (e == nullptr || std::find(e->algorithms.begin(), e->algorithms.end(), algorithm) == e->algorithms.end())
    return {};
  return e->table({algorithm, trainer, mode, spread_experts});
}

TrainerKind default_trainer(FrameworkKind framework) {
  PresetEntry const* e = entry_of(framework);
  return e == nullptr ? TrainerKind::megatron : e->trainers.front();
}

std::vector<AlgorithmKind> preset_algorithms(FrameworkKind framework) {
  PresetEntry const* e = entry_of(framework);
  return e == nullptr ? std::vector<AlgorithmKind>{} : e->algorithms;
}

std::vector<TrainerKind> preset_trainers(FrameworkKind framework) {
  PresetEntry const* e = entry_of(framework);
  return e == nullptr ? std::vector<TrainerKind>{} : e->trainers;
}

std::vector<PresetMode> preset_modes(FrameworkKind framework) {
  PresetEntry const* e = entry_of(framework);
  return e == nullptr ? std::vector<PresetMode>{} : e->modes;
}

std::vector<FrameworkKind> const& known_frameworks() {
  static std::vector<FrameworkKind> const all = {
      FrameworkKind::nemo_rl, FrameworkKind::verl, FrameworkKind::openrlhf,       FrameworkKind::slime,
      FrameworkKind::areal,   FrameworkKind::trl,  FrameworkKind::deepspeed_chat, FrameworkKind::none};
  return all;
}

std::vector<PresetDifference> preset_differences(std::vector<PresetValue> const& a,
                                                 std::vector<PresetValue> const& b) {
  std::vector<PresetDifference> out;
  for (PresetValue const& v : a) {
    PresetValue const* other = find(b, v.key);
    if (other == nullptr) {
      out.push_back({v.key, v.value, {}, v.source, {}});
    } else if (other->value != v.value) {
      out.push_back({v.key, v.value, other->value, v.source, other->source});
    }
  }
  for (PresetValue const& v : b) {
    if (find(a, v.key) == nullptr) out.push_back({v.key, {}, v.value, {}, v.source});
  }
  return out;
}

std::vector<PresetDifference> preset_differences(FrameworkKind a, FrameworkKind b, AlgorithmKind algorithm,
                                                 TrainerKind trainer, PresetMode mode) {
  return preset_differences(framework_preset(a, algorithm, trainer, mode),
                            framework_preset(b, algorithm, trainer, mode));
}

std::string_view name_of(PresetMode mode) {
  switch (mode) {
    case PresetMode::colocated:
      return "colocated";
    case PresetMode::separate:
      return "separate";
    case PresetMode::one_step_off:
      return "one_step_off";
    case PresetMode::async:
      return "async";
  }
  return "";
}

}  // namespace rollcast
