// The phases of a step.
#pragma once

#include <string_view>
#include <vector>

namespace rollcast {

enum class Phase {
  wake,
  generate,
  sleep,
  score,
  old_logprob,
  reference,
  values,
  advantage,
  update_critic,
  update_actor,
  weight_sync,
  checkpoint
};

std::vector<Phase> all_phases();
std::string_view name_of(Phase v);
// Whether a model learns in it.
bool trains(Phase phase);

}  // namespace rollcast
