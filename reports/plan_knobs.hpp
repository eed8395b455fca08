// What `rollcast plan` may change of a scenario, value by value. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "models/job.hpp"

namespace rollcast {

struct PlanValue {
  std::string text;               // for people: "4", "full", "4 trainer + 4 rollout nodes"
  std::vector<std::string> sets;  // as --set takes them; none: as the file has it
  double number = 0;              // for PlanKnob::apply
};

struct PlanKnob {
  std::string name;  // "train.parallel.tp"
  std::vector<PlanValue> values;
  std::function<void(Job& job, double number)> apply;  // the sets of a value, on a job that has been read
};

// One value of each knob, by index.
using PlanChoice = std::vector<std::uint8_t>;

// The trainer's: model-parallel sizes that the trainer has (megatron: tp with sequence parallelism, pp, cp,
// ep; fsdp2: cp; deepspeed: stages 2 and 3), recomputation, what leaves for the host during the step and
// between phases, and the micro-batch: sequences, packs or a budget of tokens, halved and doubled; the
// log-probability passes keep their ratio to it. Sizes are powers of two, and the file's.
std::vector<PlanKnob> trainer_knobs(Job const& file);

// The engines': tp and gpu_memory_utilization. None for sft, dpo and Hugging Face generate.
std::vector<PlanKnob> engine_knobs(Job const& file);

// The choice that changes nothing, as far as the file's values are among those of the knobs; else the
// nearest.
PlanChoice choice_of(std::vector<PlanKnob> const& knobs, Job const& file);

void apply(std::vector<PlanKnob> const& knobs, PlanChoice const& choice, Job& job);

// GPUs given to roles, and when they work.
struct PlanSite {
  std::string placement;  // "colocated", "2 nodes train, 2 roll out"
  ScheduleKind schedule = ScheduleKind::synchronous;
  bool apart = false;  // engines have GPUs of their own
  std::vector<std::string> sets;
};

// Every site on this many GPUs: all roles together, where the file has no pools; a quarter, a half and three
// quarters of the GPUs for the engines, by whole nodes (of one node, by GPUs), where the file has no pools or
// one for the trainer and one for the engines on the same nodes; the schedules that the framework has where
// they are apart. A file with other pools has its own placement alone, on as many GPUs as it has.
std::vector<PlanSite> plan_sites(Job const& file, int gpus);

}  // namespace rollcast
