#include "models/roles.hpp"

#include <algorithm>
#include <stdexcept>

#include "models/pools.hpp"

namespace rollcast {

std::string_view name_of(Role r) {
  switch (r) {
    case Role::actor:
      return "actor";
    case Role::critic:
      return "critic";
    case Role::reference:
      return "reference";
    case Role::reward:
      return "reward";
    case Role::rollout:
      return "rollout";
    case Role::process:
      return "process";
  }
  throw std::logic_error("no such Role");
}

bool has_value_head(Role r) { return r == Role::critic || r == Role::reward; }

std::optional<Adapter> adapter_of(Job const& job, ModelRole const& r) {
  return r.trained || r.shares_actor_weights ? job.algorithm.adapter : std::nullopt;
}

std::vector<ModelRole> model_roles(Algorithm const& a) {
  if (a.kind == AlgorithmKind::serve) return {};
  ModelRole const actor{Role::actor, true, false};
  ModelRole const critic{Role::critic, true, false};
  ModelRole const reference{Role::reference, false, a.adapter.has_value()};
  ModelRole const reward{Role::reward, false, false};
  std::vector<ModelRole> roles = {actor};
  if (a.kind == AlgorithmKind::ppo) roles.push_back(critic);
  bool const live = a.kind != AlgorithmKind::dpo || !a.reference_precomputed;
  if (a.kind != AlgorithmKind::sft && a.kl_reference && live) roles.push_back(reference);
  if (has_rollout(a) && a.reward_model) roles.push_back(reward);
  return roles;
}

bool has_rollout(Algorithm const& a) { return generates(a.kind); }

std::vector<Phase> step_phases(Job const& job) {
  Algorithm const& a = job.algorithm;
  if (a.kind == AlgorithmKind::serve) return {Phase::generate};
  if (a.kind == AlgorithmKind::sft) return {Phase::update_actor};
  if (a.kind == AlgorithmKind::dpo) {
    if (a.reference_precomputed) return {Phase::update_actor};
    return {Phase::reference, Phase::update_actor};
  }
  std::vector<Phase> order = job.framework.order;
  if (order.empty()) {
    order = {Phase::generate,     Phase::sleep,       Phase::score,     Phase::old_logprob,
             Phase::reference,    Phase::values,      Phase::advantage, Phase::update_critic,
             Phase::update_actor, Phase::weight_sync, Phase::wake};
  }
  if (a.kind != AlgorithmKind::ppo) order = without(order, {Phase::values, Phase::update_critic});
  if (!a.kl_reference) order = without(order, {Phase::reference});
  if (!colocated(job)) order = without(order, {Phase::sleep, Phase::wake});
  return order;
}

std::vector<Phase> forward_phases(Job const& job, ModelRole const& r) {
  std::vector<Phase> const phases = step_phases(job);
  switch (r.role) {
    case Role::actor:
      return only(phases, {Phase::old_logprob});
    case Role::critic:
      return only(phases, {Phase::values});
    case Role::reference:
      return only(phases, {Phase::reference});
    case Role::reward:
      return only(phases, {Phase::score});
    case Role::rollout:
    case Role::process:
      return {};
  }
  throw std::logic_error("no such Role");
}

std::vector<Phase> update_phases(Job const& job, ModelRole const& r) {
  if (!r.trained) return {};
  return only(step_phases(job), {r.role == Role::critic ? Phase::update_critic : Phase::update_actor});
}

bool contains(std::vector<Phase> const& phases, Phase p) {
  return std::find(phases.begin(), phases.end(), p) != phases.end();
}

std::vector<Phase> without(std::vector<Phase> const& phases, std::vector<Phase> const& removed) {
  std::vector<Phase> out;
  for (Phase p : phases) {
    if (!contains(removed, p)) out.push_back(p);
  }
  return out;
}

std::vector<Phase> only(std::vector<Phase> const& phases, std::vector<Phase> const& kept) {
  std::vector<Phase> out;
  for (Phase p : phases) {
    if (contains(kept, p)) out.push_back(p);
  }
  return out;
}

}  // namespace rollcast
