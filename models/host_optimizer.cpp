#include "models/host_optimizer.hpp"

#include <algorithm>

#include "models/prices.hpp"
#include "models/switching.hpp"

namespace rollcast {
namespace {

constexpr double kAdamBytes = 4 + 3 * 4 + 3 * 4 + 2;
constexpr double kScaleBytes = 2 * 4;  // the gradient is read and written
constexpr double kFloat = 4;
constexpr double kTorchShare = 0.07;
constexpr double kDeepSpeedOverTorch = 6;
constexpr BytesPerSecond kThread = GB_per_s(12);

bool is_deepspeed(TrainerOptions const& t) { return t.kind == TrainerKind::deepspeed; }

Seconds copied(Profile const& p, Node const& node, Direction direction, Bytes bytes, bool pinned) {
  return shared_copy_time(p, node, {direction, bytes, "", pinned});
}

Seconds copies(Profile const& p, Node const& node, TrainerOptions const& t, double parameters) {
  if (!is_deepspeed(t))
    return copy_time(p, size_of(t.gradients) * parameters, Direction::device_to_host) +
           copy_time(p, size_of(t.weights) * parameters, Direction::host_to_device);
  Bytes const all = bytes(kFloat * parameters);
  return copied(p, node, Direction::device_to_host, all, t.pinned_gradients) +
         copied(p, node, Direction::host_to_device, all, t.pinned_weights);
}

}  // namespace

Seconds host_optimizer_time(Profile const& p, Node const& node, TrainerOptions const& t, double parameters) {
  Seconds const moved = copies(p, node, t, parameters);
  if (node.host_memory_bandwidth.value <= 0) return moved;
  double const share = is_deepspeed(t) ? kTorchShare * kDeepSpeedOverTorch : kTorchShare;
  double const ranks = std::max(1.0, static_cast<double>(node.gpus) / std::max(1, node.numa_nodes));
  BytesPerSecond rate = node.host_memory_bandwidth * (share / ranks);
  if (is_deepspeed(t) && t.host_threads > 0) rate = min(rate, kThread * t.host_threads);
  double const touched = kAdamBytes + (is_deepspeed(t) ? kScaleBytes : 0);
  return moved + bytes(touched * parameters) / rate;
}

Seconds host_accumulation_time(Profile const& p, Node const& node, TrainerOptions const& t,
                               double parameters) {
  if (!is_deepspeed(t)) return Seconds(0);
  Bytes const sum = size_of(t.gradients) * parameters;
  return copied(p, node, Direction::host_to_device, sum, t.pinned_gradients) +
         copied(p, node, Direction::device_to_host, sum, t.pinned_gradients);
}

}  // namespace rollcast
