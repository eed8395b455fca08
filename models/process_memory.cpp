#include "models/process_memory.hpp"

#include "models/gradient_buckets.hpp"

namespace rollcast {
namespace {

ProcessMemory make_process_memory() {
  ProcessMemory m;
  m.cuda_context = {
      GiB(0.52),
      "llm-d-incubation/llm-d-fast-model-actuation#746: 78.66 GiB free at the start of vLLM on an H100 of "
      "65.32 / 0.825 = 79.18 GiB"};
  m.communicator_pair = {MB(544),
                         "NVIDIA/nccl#964: four A100 over NVLink, each group of two after an all-reduce"};
  m.communicator = {
      MB(688), "NVIDIA/nccl#964: four A100 over NVLink, each group of more than two after an all-reduce"};
  m.engine_communicators = {
      MiB(2440 - 774), "NVIDIA-NeMo/RL#223: a sleeping vLLM holds 2,440 MiB at TP 2 and 774 MiB at TP 1"};
  m.engine_non_torch = {
      GiB(0.14),
      "llm-d-incubation/llm-d-fast-model-actuation#746: 'non-torch forward increase' of vLLM on an "
      "H100; vllm-project/vllm#12126 shows 0.16"};
  m.cuda_graphs = {GiB(0.45), "NVIDIA-NeMo/RL#3280: graphs of a colocated vLLM"};
  m.engine_residue = {
      MiB(774) - GiB(0.52),
      "NVIDIA-NeMo/RL#223: a sleeping vLLM at TP 1 holds 774 MiB, its context included; other reports "
      "reach 1 to 4 GiB with graphs and communicators"};
  m.sampler_per_logit = {
      bytes(39),
      "vllm-project/vllm#10511: 1.26 GiB peak for 8,192 tokens and 256 sequences of Llama-3-8B, the "
      "same at TP 1 and TP 2; less 8,192 hidden states, over 256 x 128,256 logits"};
  m.host_process = {GB(1.17), "OpenRLHF#911: Ray's table of the memory of reference actors"};
  m.refit_share = 0.3;
  m.refit_share_source = "NVIDIA-NeMo/RL#3356: refit buffer ratio, default 0.3 of the free memory";
  return m;
}

}  // namespace

ProcessMemory const& process_memory() {
  static ProcessMemory const memory = make_process_memory();
  return memory;
}

std::vector<std::pair<std::string, CitedBytes>> cited_bytes(ProcessMemory const& m) {
  return {{"cuda_context", m.cuda_context},         {"communicator_pair", m.communicator_pair},
          {"communicator", m.communicator},         {"engine_communicators", m.engine_communicators},
          {"engine_non_torch", m.engine_non_torch}, {"cuda_graphs", m.cuda_graphs},
          {"engine_residue", m.engine_residue},     {"sampler_per_logit", m.sampler_per_logit},
          {"host_process", m.host_process}};
}

Bytes trainer_communicators(Job const& job, ProcessMemory const& m) {
  Parallel const& p = job.train.parallel;
  int const world = job.cluster.gpus();
  Bytes sum;
  auto const add = [&](int ranks) {
    if (ranks > 1) sum += ranks == 2 ? m.communicator_pair.value : m.communicator.value;
  };
  add(world);
  for (int ranks : {p.tp, p.pp, p.cp, p.ep, data_parallel(job) * p.cp}) {
    if (ranks < world) add(ranks);
  }
  if (has_expert_groups(job)) {
    if (p.expert_tp() != p.tp) add(p.expert_tp());
    add(expert_data_parallel(job));
  }
  return sum;
}

}  // namespace rollcast
