#include "models/job.hpp"

#include <stdexcept>

namespace rollcast {
namespace {
[[noreturn]] void no_such_value(char const* type) { throw std::logic_error(std::string("no such ") + type); }
}  // namespace

Bytes size_of(DType d) {
  switch (d) {
    case DType::fp32:
      return bytes(4);
    case DType::bf16:
    case DType::fp16:
      return bytes(2);
    case DType::fp8:
      return bytes(1);
  }
  no_such_value("DType");
}

int data_parallel(Job const& job) { return job.cluster.gpus() / job.train.parallel.ranks_per_replica(); }

int rollout_engines(Job const& job) { return job.cluster.gpus() / job.rollout.parallel.ranks_per_replica(); }

std::string_view name_of(DType v) {
  switch (v) {
    case DType::fp32:
      return "fp32";
    case DType::bf16:
      return "bf16";
    case DType::fp16:
      return "fp16";
    case DType::fp8:
      return "fp8";
  }
  no_such_value("DType");
}

std::string_view name_of(AlgorithmKind v) {
  switch (v) {
    case AlgorithmKind::sft:
      return "sft";
    case AlgorithmKind::dpo:
      return "dpo";
    case AlgorithmKind::ppo:
      return "ppo";
    case AlgorithmKind::grpo:
      return "grpo";
  }
  no_such_value("AlgorithmKind");
}

std::string_view name_of(AdapterKind v) {
  switch (v) {
    case AdapterKind::lora:
      return "lora";
    case AdapterKind::qlora:
      return "qlora";
  }
  no_such_value("AdapterKind");
}

std::string_view name_of(TrainerKind v) {
  switch (v) {
    case TrainerKind::megatron:
      return "megatron";
    case TrainerKind::fsdp2:
      return "fsdp2";
    case TrainerKind::deepspeed:
      return "deepspeed";
  }
  no_such_value("TrainerKind");
}

std::string_view name_of(Recompute v) {
  switch (v) {
    case Recompute::none:
      return "none";
    case Recompute::selective:
      return "selective";
    case Recompute::full:
      return "full";
  }
  no_such_value("Recompute");
}

std::string_view name_of(EngineKind v) {
  switch (v) {
    case EngineKind::vllm:
      return "vllm";
    case EngineKind::sglang:
      return "sglang";
    case EngineKind::trtllm:
      return "trtllm";
    case EngineKind::hf:
      return "hf";
  }
  no_such_value("EngineKind");
}

std::string_view name_of(FrameworkKind v) {
  switch (v) {
    case FrameworkKind::none:
      return "none";
    case FrameworkKind::verl:
      return "verl";
    case FrameworkKind::openrlhf:
      return "openrlhf";
    case FrameworkKind::slime:
      return "slime";
    case FrameworkKind::areal:
      return "areal";
    case FrameworkKind::trl:
      return "trl";
    case FrameworkKind::nemo_rl:
      return "nemo-rl";
    case FrameworkKind::deepspeed_chat:
      return "deepspeed-chat";
  }
  no_such_value("FrameworkKind");
}

std::string_view name_of(Phase v) {
  switch (v) {
    case Phase::wake:
      return "wake";
    case Phase::generate:
      return "generate";
    case Phase::sleep:
      return "sleep";
    case Phase::score:
      return "score";
    case Phase::old_logprob:
      return "old_logprob";
    case Phase::reference:
      return "reference";
    case Phase::values:
      return "values";
    case Phase::advantage:
      return "advantage";
    case Phase::update_critic:
      return "update_critic";
    case Phase::update_actor:
      return "update_actor";
    case Phase::weight_sync:
      return "weight_sync";
    case Phase::checkpoint:
      return "checkpoint";
  }
  no_such_value("Phase");
}

std::string_view name_of(ScheduleKind v) {
  switch (v) {
    case ScheduleKind::synchronous:
      return "synchronous";
    case ScheduleKind::one_step_off:
      return "one_step_off";
    case ScheduleKind::async:
      return "async";
  }
  no_such_value("ScheduleKind");
}

}  // namespace rollcast
