#include "models/host_optimizer.hpp"

#include <algorithm>

#include "models/prices.hpp"

namespace rollcast {
namespace {

constexpr double kAdamBytes = 4 + 3 * 4 + 3 * 4 + 2;
constexpr double kTorchShare = 0.07;
constexpr double kDeepSpeedOverTorch = 6;
constexpr double kTorchPass = 0.2;
constexpr double kScaling = 2 * 4;
constexpr double kSum = 4;  // gradient that Adam reads, fp32
constexpr double kPageable = 0.4;
constexpr double kStaged = 3;  // times that a byte of a pageable copy passes the host's memory

double ranks_per_numa_node(Node const& node) {
  return std::max(1.0, static_cast<double>(node.gpus) / std::max(1, node.numa_nodes));
}

// Bytes of a parameter that torch moves before DeepSpeed's Adam.
double passes_before(TrainerOptions const& t) {
  return kScaling + (t.zero_stage == 3 ? 4 + 4 * size_of(t.gradients).value : 0);
}

// Bytes to the host and back.
struct Copies {
  Bytes down;
  Bytes up;
};

Copies gradient_copies(TrainerOptions const& t, double parameters, int micro_batches) {
  double const g = size_of(t.gradients).value;
  double const kept = t.zero_stage == 3 ? micro_batches : t.zero_stage == 2 ? micro_batches - 1 : 0;
  return {bytes(parameters * (kSum + g * kept)), bytes(parameters * g * kept)};
}

Seconds pinned_time(Profile const& p, Copies const& c) {
  return copy_time(p, c.down, Direction::device_to_host) + copy_time(p, c.up, Direction::host_to_device);
}

// Ranks whose stretches of the model lie in different buckets.
double ranks_in_turn(TrainerOptions const& t, double parameters, int ranks) {
  if (t.zero_stage == 3) return 1;
  double const buckets = parameters * ranks * size_of(t.gradients).value / t.bucket.value;
  return std::clamp(buckets, 1.0, static_cast<double>(ranks));
}

}  // namespace

Seconds host_optimizer_time(Profile const& p, Node const& node, TrainerOptions const& t, double parameters) {
  bool const deepspeed = t.kind == TrainerKind::deepspeed;
  Bytes const gradients = deepspeed ? Bytes(0) : size_of(t.gradients) * parameters;
  Seconds const copies = copy_time(p, gradients, Direction::device_to_host) +
                         copy_time(p, size_of(t.weights) * parameters, Direction::host_to_device);
  if (node.host_memory_bandwidth.value <= 0) return copies;
  double const share = deepspeed ? kTorchShare * kDeepSpeedOverTorch : kTorchShare;
  BytesPerSecond const memory = node.host_memory_bandwidth / ranks_per_numa_node(node);
  Bytes const passes = bytes(deepspeed ? passes_before(t) * parameters : 0);
  return copies + passes / (memory * kTorchPass) + bytes(kAdamBytes * parameters) / (memory * share);
}

Seconds host_gradient_time(Profile const& p, Node const& node, TrainerOptions const& t, double parameters,
                           int ranks, int micro_batches) {
  if (t.kind != TrainerKind::deepspeed || !t.offload.optimizer) return Seconds(0);
  bool const hidden = t.zero_stage == 3 || t.overlap_gradient_reduce;
  if (t.offload.pin_memory && hidden) return Seconds(0);
  Copies const copies = gradient_copies(t, parameters, micro_batches);
  double const turns = ranks_in_turn(t, parameters, ranks);
  Seconds const pinned = pinned_time(p, copies) * turns;
  if (t.offload.pin_memory) return pinned;
  Seconds const pageable = pinned / kPageable;
  if (t.zero_stage < 3 || node.host_memory_bandwidth.value <= 0) return pageable;
  return max(pageable,
             (copies.down + copies.up) * (kStaged * ranks_per_numa_node(node)) / node.host_memory_bandwidth);
}

}  // namespace rollcast
