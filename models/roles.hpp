// Which models an algorithm keeps, and who computes in which phase.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "models/job.hpp"

namespace rollcast {

// process: what belongs to a program rather than to a model (CUDA context, communicators).
enum class Role { actor, critic, reference, reward, rollout, process };
std::string_view name_of(Role r);
// A critic or a reward model: its head gives one number per token in place of logits.
bool has_value_head(Role r);

struct ModelRole {
  Role role = Role::actor;
  bool trained = false;
  // The reference of an adapter run is the base model with the adapter switched off: no weights of its own.
  bool shares_actor_weights = false;
};

// sft: actor. dpo: actor and frozen reference, unless it is precomputed. ppo: actor and critic trained. ppo
// and grpo: a frozen reference with kl_reference, a frozen reward model with reward_model. The rollout engine
// is not among them. serve: none.
std::vector<ModelRole> model_roles(Algorithm const& a);

// The adapter that a model runs with: of a trained role, or of a reference on its weights.
std::optional<Adapter> adapter_of(Job const& job, ModelRole const& r);

// Whether the job has engines: ppo, grpo and serve.
bool has_rollout(Algorithm const& a);

// Phases of one step in order: those of framework.order that this algorithm has (engines on GPUs of their own
// neither sleep nor wake); without an order, or for sft
// and dpo, the algorithm's own ({reference,} update_actor). serve: generate.
std::vector<Phase> step_phases(Job const& job);

// Phases in which the model of a role runs forward or backward, as far as the step has them.
std::vector<Phase> forward_phases(Job const& job, ModelRole const& r);
std::vector<Phase> update_phases(Job const& job, ModelRole const& r);

bool contains(std::vector<Phase> const& phases, Phase p);
std::vector<Phase> without(std::vector<Phase> const& phases, std::vector<Phase> const& removed);
std::vector<Phase> only(std::vector<Phase> const& phases, std::vector<Phase> const& kept);

}  // namespace rollcast
