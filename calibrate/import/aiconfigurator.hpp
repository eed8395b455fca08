// Tables of NVIDIA's aiconfigurator: <gpu>/.../<framework>/<version>/<operation>_perf.csv, times in ms.
//
//   gemm_perf                  gemm; variant: kernel
//   context_attention_perf     attention_prefill, isl new tokens after `step` cached ones; variant: kernel
//   generation_attention_perf  attention_decode at context isl + step; variant: kernel
//   moe_perf                   moe; variant: distribution of the tokens over the experts
//   nccl_perf                  collectives on one node, message_size in elements; variant: nccl
//   custom_allreduce_perf      all_reduce on one node; variant: backend ("vllm_graph", "vllm_eager")
//   wideep_deepep_*_perf       ep_dispatch and ep_combine, us, 8 GPUs a node; variant: mode and SMs
//   silicon_*                  served_ttft and served_tpot; no precision is bf16; rows with prefill and
//   decode on
//                              separate GPUs, and of GPUs that the catalog does not hold, are skipped
//
// A window_size above 0 ends the kernel's name: "fa3 window 128".
//
// num_key_value_heads 0 is num_heads. An attention row's dtype is that of its KV cache; rows with another
// type of the queries than bf16 are skipped. A kernel that is a number is looked up in the KERNELS.csv of the
// nearest folder above that has one.
#pragma once

#include <string>
#include <vector>

#include "calibrate/import/imported.hpp"

namespace rollcast {

bool is_aiconfigurator_gemm(std::vector<std::string> const& columns);
void read_aiconfigurator_gemm(SourceText const& source, Imported& out);

bool is_aiconfigurator_prefill(SourceText const& source, std::vector<std::string> const& columns);
void read_aiconfigurator_prefill(SourceText const& source, Imported& out);

bool is_aiconfigurator_decode(SourceText const& source, std::vector<std::string> const& columns);
void read_aiconfigurator_decode(SourceText const& source, Imported& out);

bool is_aiconfigurator_moe(std::vector<std::string> const& columns);
void read_aiconfigurator_moe(SourceText const& source, Imported& out);

bool is_aiconfigurator_nccl(std::vector<std::string> const& columns);
void read_aiconfigurator_nccl(SourceText const& source, Imported& out);

bool is_aiconfigurator_all_reduce(std::vector<std::string> const& columns);
void read_aiconfigurator_all_reduce(SourceText const& source, Imported& out);

bool is_aiconfigurator_wideep(std::vector<std::string> const& columns);
void read_aiconfigurator_wideep(SourceText const& source, Imported& out);

bool is_aiconfigurator_served(std::vector<std::string> const& columns);
void read_aiconfigurator_served(SourceText const& source, Imported& out);

}  // namespace rollcast
