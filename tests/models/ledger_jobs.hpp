// Jobs that the memory tests start from.
#pragma once

#include <cstddef>
#include <string_view>

#include "models/catalog/catalog.hpp"
#include "models/ledger.hpp"

namespace rollcast::test {

inline Architecture model(std::string_view name) { return *find_architecture(builtin_catalog(), name); }

// Nodes of eight GPUs; sequences of exactly 512 + 1,536 = 2,048 tokens; nothing is offloaded, the reference
// stays on the GPU.
inline Job plain_job(Architecture const& a, AlgorithmKind kind, int gpus) {
  Job job;
  job.model = a;
  job.cluster.node = *find_node(builtin_catalog(), "hgx-h100");
  job.cluster.node.gpus = gpus < 8 ? gpus : 8;
  job.cluster.nodes = gpus < 8 ? 1 : gpus / 8;
  job.framework.reference_on_host = false;
  job.framework.optimizer_offload = false;
  job.framework.parameters_offload = false;
  job.algorithm.kind = kind;
  job.algorithm.kl_reference = kind == AlgorithmKind::ppo || kind == AlgorithmKind::dpo;
  job.algorithm.reward_model = kind == AlgorithmKind::ppo;
  job.algorithm.train_batch = 512;
  job.workload.prompt_tokens.shape = FixedLength{512};
  job.workload.response_tokens.shape = FixedLength{1536};
  job.train.kind = TrainerKind::deepspeed;
  return job;
}

// The recipe of scenarios/examples/grpo-8b-colocated.yaml: NeMo-RL's colocated GRPO step.
inline Job colocated_grpo() {
  Job job = plain_job(model("llama-3.1-8b-instruct"), AlgorithmKind::grpo, 16);
  job.framework = {};
  job.framework.order = {Phase::generate,     Phase::sleep,       Phase::score,
                         Phase::old_logprob,  Phase::reference,   Phase::advantage,
                         Phase::update_actor, Phase::weight_sync, Phase::wake};
  job.algorithm.prompts = 64;
  job.algorithm.group_size = 32;
  job.algorithm.kl_reference = true;
  job.workload.prompt_tokens.shape = FixedLength{127};
  job.workload.response_tokens.shape = FixedLength{3969};
  job.train.kind = TrainerKind::megatron;
  job.train.parallel = {1, 2, 1, 1};
  job.train.logprob_micro_batch = 2;
  job.train.packing = true;
  job.train.recompute = Recompute::full;
  job.train.distributed_optimizer = true;
  job.rollout.gpu_memory_utilization = 0.6;
  return job;
}

// Sum of the lines that a test names; lines of zero bytes are not in the ledger.
inline Bytes sum(RankLedger const& l, MemoryCategory c, bool host = false) {
  Bytes out;
  for (LedgerLine const& line : l.lines) {
    if (line.category == c && line.host == host) out += line.bytes;
  }
  return out;
}

inline LedgerLine const* find_line(RankLedger const& l, Role role, std::string_view name, MemoryCategory c,
                                   bool host = false) {
  for (LedgerLine const& line : l.lines) {
    if (line.role == role && line.name == name && line.category == c && line.host == host) return &line;
  }
  return nullptr;
}

}  // namespace rollcast::test
