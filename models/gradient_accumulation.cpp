#include "models/gradient_accumulation.hpp"

namespace rollcast {
namespace {

constexpr double kResult = 2;  // bf16

}  // namespace

bool fuses_accumulation(Job const& job) {
  if (job.train.kind != TrainerKind::megatron) return false;
  FrameworkKind const f = job.framework.kind;
  return f != FrameworkKind::nemo_rl && f != FrameworkKind::verl;
}

double accumulation_bytes(Job const& job) {
  if (job.train.kind == TrainerKind::deepspeed && job.train.zero_stage == 3) return 0;
  double const buffer = 2 * size_of(job.train.gradients).value;
  return fuses_accumulation(job) ? buffer - kResult : buffer + kResult;
}

}  // namespace rollcast
