#include "models/job.hpp"

#include <algorithm>
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

bool generates(AlgorithmKind k) { return k != AlgorithmKind::sft && k != AlgorithmKind::dpo; }

int data_parallel(Job const& job) { return job.cluster.gpus() / job.train.parallel.ranks_per_replica(); }

int expert_data_parallel(Job const& job) {
  Parallel const& p = job.train.parallel;
  return std::max(1, job.cluster.gpus() / p.pp / p.expert_block());
}

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
    case AlgorithmKind::serve:
      return "serve";
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
    case TrainerKind::ddp:
      return "ddp";
  }
  no_such_value("TrainerKind");
}

std::string_view name_of(CrossEntropy v) {
  switch (v) {
    case CrossEntropy::whole:
      return "whole";
    case CrossEntropy::chunked:
      return "chunked";
    case CrossEntropy::fused:
      return "fused";
    case CrossEntropy::linear:
      return "linear";
  }
  no_such_value("CrossEntropy");
}

std::string_view name_of(LogitsPrecision v) {
  switch (v) {
    case LogitsPrecision::fp32:
      return "fp32";
    case LogitsPrecision::autocast:
      return "autocast";
    case LogitsPrecision::weights:
      return "weights";
  }
  no_such_value("LogitsPrecision");
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

std::vector<Phase> all_phases() {
  std::vector<Phase> all;
  for (int p = 0; p <= static_cast<int>(Phase::checkpoint); ++p) all.push_back(static_cast<Phase>(p));
  return all;
}

bool trains(Phase phase) { return phase == Phase::update_actor || phase == Phase::update_critic; }

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

std::string_view name_of(AdapterSync v) {
  switch (v) {
    case AdapterSync::merged:
      return "merged";
    case AdapterSync::adapter:
      return "adapter";
  }
  no_such_value("AdapterSync");
}

std::string_view name_of(ContextParallel v) {
  switch (v) {
    case ContextParallel::ring:
      return "ring";
    case ContextParallel::ulysses:
      return "ulysses";
  }
  no_such_value("ContextParallel");
}

std::string_view name_of(Balance v) {
  switch (v) {
    case Balance::none:
      return "none";
    case Balance::sorted:
      return "sorted";
    case Balance::karmarkar_karp:
      return "karmarkar_karp";
  }
  no_such_value("Balance");
}

std::string_view name_of(Quantization v) {
  switch (v) {
    case Quantization::nf4:
      return "nf4";
    case Quantization::nf4_fp16:
      return "nf4_fp16";
    case Quantization::torchao:
      return "torchao";
    case Quantization::gptq:
      return "gptq";
  }
  no_such_value("Quantization");
}

std::string_view name_of(Padding v) {
  switch (v) {
    case Padding::longest:
      return "longest";
    case Padding::batch:
      return "batch";
    case Padding::maximum:
      return "maximum";
  }
  no_such_value("Padding");
}

std::string_view name_of(Fp8Scaling v) {
  switch (v) {
    case Fp8Scaling::tensor:
      return "tensor";
    case Fp8Scaling::block:
      return "block";
  }
  no_such_value("Fp8Scaling");
}

std::string_view name_of(KernelStack v) {
  switch (v) {
    case KernelStack::fused:
      return "fused";
    case KernelStack::compiled:
      return "compiled";
    case KernelStack::eager:
      return "eager";
  }
  no_such_value("KernelStack");
}

std::string_view name_of(KvCache v) {
  switch (v) {
    case KvCache::paged:
      return "paged";
    case KvCache::preallocated:
      return "static";
  }
  no_such_value("KvCache");
}

std::string_view name_of(EngineBalance v) {
  switch (v) {
    case EngineBalance::contiguous:
      return "contiguous";
    case EngineBalance::round_robin:
      return "round_robin";
    case EngineBalance::least_load:
      return "least_load";
    case EngineBalance::by_group:
      return "by_group";
  }
  no_such_value("EngineBalance");
}

std::string_view name_of(FrontEnd v) {
  switch (v) {
    case FrontEnd::server:
      return "server";
    case FrontEnd::apart:
      return "apart";
    case FrontEnd::in_process:
      return "in_process";
  }
  no_such_value("FrontEnd");
}

std::string_view name_of(Experience v) {
  switch (v) {
    case Experience::step:
      return "step";
    case Experience::batch:
      return "batch";
    case Experience::stream:
      return "stream";
  }
  no_such_value("Experience");
}

std::string_view name_of(Entropy v) {
  switch (v) {
    case Entropy::none:
      return "none";
    case Entropy::whole:
      return "whole";
    case Entropy::chunked:
      return "chunked";
  }
  no_such_value("Entropy");
}

std::string_view name_of(NumaBinding v) {
  switch (v) {
    case NumaBinding::spread:
      return "spread";
    case NumaBinding::first:
      return "first";
  }
  no_such_value("NumaBinding");
}

std::string_view name_of(SyncGather v) {
  switch (v) {
    case SyncGather::tensor:
      return "tensor";
    case SyncGather::shards:
      return "shards";
    case SyncGather::whole:
      return "whole";
    case SyncGather::first_rank:
      return "first_rank";
  }
  no_such_value("SyncGather");
}

std::string_view name_of(ExpertDispatch v) {
  switch (v) {
    case ExpertDispatch::all_to_all:
      return "all_to_all";
    case ExpertDispatch::deepep:
      return "deepep";
  }
  no_such_value("ExpertDispatch");
}

std::string_view name_of(QueueRule v) {
  switch (v) {
    case QueueRule::verl:
      return "verl";
    case QueueRule::areal:
      return "areal";
    case QueueRule::slime:
      return "slime";
    case QueueRule::nemo_rl:
      return "nemo-rl";
  }
  no_such_value("QueueRule");
}

}  // namespace rollcast
