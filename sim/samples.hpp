// The samples of a step and their lengths.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/environment.hpp"
#include "models/job.hpp"
#include "models/time_distribution.hpp"

namespace rollcast {

struct StepSample {
  std::int64_t id = 0;  // within the step: prompt x group_size + sibling
  int prompt = 0;       // index of its prompt
  int prompt_tokens = 0;
  int response_tokens = 0;
  int observation_tokens = 0;  // what tools answered, between the turns
  int generated = 0;           // of the response, in an earlier step
  // Of the keys of its random draws; id may change on its way, these do not.
  int draw_step = 0;
  std::int64_t draw_index = 0;

  int tokens() const { return prompt_tokens + response_tokens + observation_tokens; }
};

// `prompts` (0: of the algorithm) x group_size samples, in order of id, from prompt `first` on; sft:
// train_batch samples; dpo: as many pairs, chosen before rejected. Lengths depend on seed, step and index
// alone.
std::vector<StepSample> samples_of_step(Job const& job, std::uint64_t seed, int step, int first = 0,
                                        int prompts = 0);

// Whether the rewards of a prompt's group differ (equal_reward_groups); always without that option.
bool has_signal(Job const& job, std::uint64_t seed, int step, std::int64_t prompt);

RandomKey draw_key(std::uint64_t seed, Purpose purpose, StepSample const& s);

// Turns with an environment's tool; nothing without an environment. It solves for the tool's distribution:
// once a run is enough.
std::optional<TurnModel> turn_model(Scoring const& score);
std::vector<Turn> turns_of(TurnModel const& model, std::uint64_t seed, StepSample const& s);

// What a rule takes for a sample.
Seconds rule_time(Scoring const& score);

// The scenario checks have solved it; a fixed time where no spread was given.
TimeDistribution distribution_of(ServiceTime const& t, Seconds cut);

}  // namespace rollcast
