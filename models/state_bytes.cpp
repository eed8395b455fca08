#include "models/state_bytes.hpp"

#include "models/roles.hpp"

namespace rollcast {
namespace {

StateBytes cut(StateBytes per_parameter, double parameters, int stage, int ranks) {
  double const whole = parameters;
  double const shard = parameters / ranks;
  StateBytes s;
  s.weights = per_parameter.weights * (stage >= 3 ? shard : whole);
  s.gradients = per_parameter.gradients * (stage >= 2 ? shard : whole);
  s.master_weights = per_parameter.master_weights * (stage >= 1 ? shard : whole);
  s.optimizer_states = per_parameter.optimizer_states * (stage >= 1 ? shard : whole);
  return s;
}

}  // namespace

StateBytes trained_bytes_per_parameter(TrainerOptions const& t) {
  StateBytes s;
  s.optimizer_states = 2.0 * size_of(t.optimizer_states);
  if (t.master_weights) s.master_weights = size_of(DType::fp32);
  bool const one_fp32_copy = t.kind == TrainerKind::fsdp2 && t.master_weights;
  s.weights = one_fp32_copy ? Bytes(0) : size_of(t.weights);
  s.gradients = one_fp32_copy ? size_of(DType::fp32) : size_of(t.gradients);
  return s;
}

StateBytes frozen_bytes_per_parameter(TrainerOptions const& t) {
  StateBytes s;
  s.weights = size_of(t.weights);
  return s;
}

int zero_stage(TrainerOptions const& t) {
  if (t.kind == TrainerKind::fsdp2) return 3;
  if (t.kind == TrainerKind::megatron) return t.distributed_optimizer ? 1 : 0;
  return t.zero_stage;
}

StateBytes trained_state(double parameters, TrainerOptions const& t, int ranks) {
  return cut(trained_bytes_per_parameter(t), parameters, zero_stage(t), ranks);
}

StateBytes frozen_state(double parameters, TrainerOptions const& t, int ranks) {
  return cut(frozen_bytes_per_parameter(t), parameters, zero_stage(t), ranks);
}

Bytes algorithm_bytes_per_parameter(Algorithm const& a, TrainerOptions const& t) {
  Bytes sum;
  for (ModelRole const& r : model_roles(a)) {
    if (r.shares_actor_weights) continue;
    sum += (r.trained ? trained_bytes_per_parameter(t) : frozen_bytes_per_parameter(t)).total();
  }
  return sum;
}

}  // namespace rollcast
