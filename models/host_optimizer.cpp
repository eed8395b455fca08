#include "models/host_optimizer.hpp"

#include <algorithm>

#include "models/prices.hpp"
#include "models/switching.hpp"

namespace rollcast {
namespace {

constexpr double kAdamBytes = 4 + 3 * 4 + 3 * 4 + 2;
constexpr double kTorchShare = 0.07;
constexpr double kDeepSpeedOverTorch = 6;
constexpr double kTorchPass = 0.2;
constexpr double kScaling = 2 * 4;
constexpr double kFloat = 4;
constexpr BytesPerSecond kThread = GB_per_s(12);

bool is_deepspeed(TrainerOptions const& t) { return t.kind == TrainerKind::deepspeed; }

// Bytes of a parameter that torch moves before DeepSpeed's Adam.
double passes_before(TrainerOptions const& t) {
  return kScaling + (t.zero_stage == 3 ? 4 + 4 * size_of(t.gradients).value : 0);
}

// What the host's memory, at this share, or its threads give one of a node's ranks.
BytesPerSecond host_rate(Node const& node, TrainerOptions const& t, double share) {
  double const ranks = std::max(1.0, static_cast<double>(node.gpus) / std::max(1, node.numa_nodes));
  BytesPerSecond const memory = node.host_memory_bandwidth * (share / ranks);
  return is_deepspeed(t) && t.host_threads > 0 ? min(memory, kThread * t.host_threads) : memory;
}

// Bytes to the host and back.
struct Copies {
  Bytes down;
  Bytes up;
};

Copies gradient_copies(TrainerOptions const& t, double parameters, int micro_batches) {
  double const g = size_of(t.gradients).value;
  double const kept = t.zero_stage == 3 ? micro_batches : t.zero_stage == 2 ? micro_batches - 1 : 0;
  return {bytes(parameters * (kFloat + g * kept)), bytes(parameters * g * kept)};
}

// Ranks whose stretches of the model lie in different buckets.
double ranks_in_turn(TrainerOptions const& t, double parameters, int ranks) {
  double const buckets = parameters * ranks * size_of(t.gradients).value / t.bucket.value;
  return std::clamp(buckets, 1.0, static_cast<double>(ranks));
}

Node with_one_gpu(Node node) {
  node.gpus = node.gpus_per_pcie_switch = 1;
  return node;
}

Seconds weights_back(Profile const& p, Node const& node, TrainerOptions const& t, double parameters) {
  return shared_copy_time(p, node,
                          {Direction::host_to_device, bytes(kFloat * parameters), "", t.pinned_weights});
}

}  // namespace

Seconds host_optimizer_time(Profile const& p, Node const& node, TrainerOptions const& t, double parameters) {
  bool const known = node.host_memory_bandwidth.value > 0;
  Bytes const adam = bytes(kAdamBytes * parameters);
  if (!is_deepspeed(t)) {
    Seconds const copies = copy_time(p, size_of(t.gradients) * parameters, Direction::device_to_host) +
                           copy_time(p, size_of(t.weights) * parameters, Direction::host_to_device);
    return known ? copies + adam / host_rate(node, t, kTorchShare) : copies;
  }
  Seconds const copies = weights_back(p, node, t, parameters);
  if (!known) return copies;
  return copies + bytes(passes_before(t) * parameters) / host_rate(node, t, kTorchPass) +
         adam / host_rate(node, t, kTorchShare * kDeepSpeedOverTorch);
}

Seconds host_gradient_time(Profile const& p, Node const& node, TrainerOptions const& t, double parameters,
                           int ranks, int micro_batches) {
  if (!is_deepspeed(t) || !t.offload.optimizer) return Seconds(0);
  bool const all_at_once = t.zero_stage == 3;
  if (t.pinned_gradients && (all_at_once || t.overlap_gradient_reduce)) return Seconds(0);
  Copies const c = gradient_copies(t, parameters, micro_batches);
  Node const sharing = all_at_once ? node : with_one_gpu(node);
  Seconds const one =
      shared_copy_time(p, sharing, {Direction::device_to_host, c.down, "", t.pinned_gradients}) +
      shared_copy_time(p, sharing, {Direction::host_to_device, c.up, "", t.pinned_gradients});
  return one * (all_at_once ? 1 : ranks_in_turn(t, parameters, ranks));
}

Seconds paging_time(Profile const& p, Bytes states, Bytes free) {
  Bytes const paged = max(Bytes(0), states - max(Bytes(0), free));
  return copy_time(p, paged, Direction::host_to_device) + copy_time(p, paged, Direction::device_to_host);
}

}  // namespace rollcast
