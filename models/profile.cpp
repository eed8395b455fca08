#include "models/profile.hpp"

namespace rollcast {

std::vector<std::pair<std::string, Cited>> cited_numbers(Profile const& p) {
  return {{"gemm_bf16", p.gemm_bf16},
          {"gemm_fp8", p.gemm_fp8},
          {"gemm_memory", p.gemm_memory},
          {"attention_forward", p.attention_forward},
          {"attention_backward", p.attention_backward},
          {"decode_attention", p.decode_attention},
          {"memory_pass", p.memory_pass},
          {"sustained_clock", p.sustained_clock},
          {"nvlink", p.nvlink},
          {"network", p.network},
          {"pcie", p.pcie},
          {"kernel_launch", p.kernel_launch},
          {"engine_step", p.engine_step},
          {"engine_per_sequence", p.engine_per_sequence},
          {"engine_per_sequence_synchronous", p.engine_per_sequence_synchronous},
          {"engine_logprobs_step", p.engine_logprobs_step},
          {"engine_logprobs_per_sequence", p.engine_logprobs_per_sequence},
          {"engine_all_reduce_alpha", p.engine_all_reduce_alpha},
          {"collective_alpha_node", p.collective_alpha_node},
          {"collective_alpha_network", p.collective_alpha_network},
          {"fabric_latency", p.fabric_latency}};
}

}  // namespace rollcast
