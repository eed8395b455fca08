// A profile of round numbers on the H100-SXM data sheet, and jobs on it, so that tests can be derived by
// hand.
#pragma once

#include <stdexcept>
#include <string>

#include "models/catalog/catalog.hpp"
#include "models/job.hpp"
#include "models/profile.hpp"

namespace rollcast {

inline Architecture catalog_model(std::string const& name) {
  Architecture const* a = find_architecture(builtin_catalog(), name);
  if (a == nullptr) throw std::logic_error("no such model in the catalog: " + name);
  return *a;
}

inline ClusterSpec h100_cluster(int nodes) {
  ClusterSpec c;
  c.node = *find_node(builtin_catalog(), "hgx-h100");
  c.fabric = *find_fabric(builtin_catalog(), "ib-400g");
  c.nodes = nodes;
  return c;
}

// H100-SXM: 989 TFLOP/s bf16, 1,979 fp8, 3.35 TB/s, NVLink 450 GB/s, PCIe 64 GB/s; 8 NICs of 50 GB/s.
inline Profile round_profile() {
  Profile p;
  p.name = "round";
  p.gpu = *find_gpu(builtin_catalog(), "h100-sxm");
  p.gemm_bf16 = {0.8, "test"};
  p.gemm_fp8 = {0.5, "test"};
  p.gemm_memory = {0.8, "test"};
  p.attention_forward = {0.5, "test"};
  p.attention_backward = {0.4, "test"};
  p.decode_attention = {0.7, "test"};
  p.memory_pass = {0.5, "test"};
  p.sustained_clock = {0.9, "test"};
  p.nvlink = {0.75, "test"};
  p.network = {0.9, "test"};
  p.pcie = {0.8, "test"};
  p.kernel_launch = {5e-6, "test"};
  p.eager_launches = {4, "test"};
  p.dequantization = {0.5, "test"};
  p.engine_step = {1e-3, "test"};
  p.engine_per_sequence = {1e-5, "test"};
  p.engine_per_sequence_synchronous = {2e-5, "test"};
  p.engine_logprobs_step = {1e-4, "test"};
  p.engine_logprobs_per_sequence = {3e-5, "test"};
  p.engine_text_per_sequence = {1e-5, "test"};
  p.engine_all_reduce_alpha = {4e-6, "test"};
  p.collective_alpha_node = {15e-6, "test"};
  p.collective_alpha_network = {10e-6, "test"};
  p.fabric_latency = {2.7e-6, "test"};
  return p;
}

// Llama-3.1-8B on `nodes` HGX H100, every parallel size 1.
inline Job llama_job(int nodes) {
  Job job;
  job.model = catalog_model("llama-3.1-8b");
  job.cluster = h100_cluster(nodes);
  return job;
}

}  // namespace rollcast
