#include "models/host_optimizer.hpp"

#include <algorithm>

#include "models/prices.hpp"

namespace rollcast {
namespace {

constexpr double kAdamBytes = 4 + 3 * 4 + 3 * 4 + 2;
constexpr double kTorchShare = 0.07;
constexpr double kDeepSpeedOverTorch = 6;

}  // namespace

Seconds host_optimizer_time(Profile const& p, Node const& node, TrainerOptions const& t, double parameters) {
  Seconds const copies = copy_time(p, size_of(t.gradients) * parameters, Direction::device_to_host) +
                         copy_time(p, size_of(t.weights) * parameters, Direction::host_to_device);
  if (node.host_memory_bandwidth.value <= 0) return copies;
  double const share = t.kind == TrainerKind::deepspeed ? kTorchShare * kDeepSpeedOverTorch : kTorchShare;
  double const ranks = std::max(1.0, static_cast<double>(node.gpus) / std::max(1, node.numa_nodes));
  return copies + bytes(kAdamBytes * parameters) / (node.host_memory_bandwidth * (share / ranks));
}

Seconds paging_time(Profile const& p, Bytes states, Bytes free) {
  Bytes const paged = max(Bytes(0), states - max(Bytes(0), free));
  return copy_time(p, paged, Direction::host_to_device) + copy_time(p, paged, Direction::device_to_host);
}

}  // namespace rollcast
