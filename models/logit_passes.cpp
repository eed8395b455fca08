#include "models/logit_passes.hpp"

#include <algorithm>

namespace rollcast {
namespace {

constexpr LogitBytes kOnePass{4, 4};
constexpr LogitBytes kMegatron{42, 18};
constexpr LogitBytes kEager{30, 38};
constexpr LogitBytes kShift{8, 12};
constexpr LogitBytes kLinear{54, 58};
constexpr LossKernels kPolicyLoss{80, 60};
constexpr LossKernels kCrossEntropyLoss{15, 10};
constexpr double kTemperature = 8;
constexpr double kSliceGradient = 16;

bool is_policy(AlgorithmKind k) { return k == AlgorithmKind::ppo || k == AlgorithmKind::grpo; }

// Of one length with the tokens and pairs of the micro-batch.
double sequences(MicroBatch const& m) {
  auto const tokens = static_cast<double>(m.useful_tokens);
  if (tokens <= 0 || m.pairs <= 0) return 1;
  return std::max(1.0, tokens / std::max(1.0, 2 * m.pairs / tokens - 1));
}

bool takes_sequences_apart(Job const& job) {
  return job.framework.kind == FrameworkKind::nemo_rl && job.train.packing;
}

}  // namespace

LogitBytes logit_bytes(Job const& job, MicroBatch const& m) {
  TrainerOptions const& t = job.train;
  bool const compiled = t.cross_entropy == CrossEntropy::chunked && t.kernels == KernelStack::compiled;
  if (t.cross_entropy == CrossEntropy::fused || compiled) return kOnePass;
  if (t.cross_entropy == CrossEntropy::linear) return t.kernels == KernelStack::fused ? kOnePass : kLinear;
  LogitBytes bytes = t.kernels == KernelStack::fused ? kMegatron : kEager;
  if (t.shifted_labels) {
    bytes.forward -= kShift.forward;
    bytes.backward -= kShift.backward;
  }
  if (is_policy(job.algorithm.kind)) {
    bytes.forward += kTemperature;
    bytes.backward += kTemperature;
  }
  if (takes_sequences_apart(job)) bytes.backward += kSliceGradient * sequences(m);
  return bytes;
}

LossKernels loss_kernels(Job const& job, MicroBatch const& m) {
  LossKernels const once = job.algorithm.kind == AlgorithmKind::sft ? kCrossEntropyLoss : kPolicyLoss;
  double const times = takes_sequences_apart(job) ? sequences(m) : 1;
  return {once.forward * times, once.backward * times};
}

bool recomputes_logits(TrainerOptions const& t) {
  return t.cross_entropy == CrossEntropy::linear && t.kernels != KernelStack::fused;
}

}  // namespace rollcast
