// Which benchmark programs measure a GPU for a model, and with what options.
#pragma once

#include <string>
#include <vector>

#include "models/units.hpp"

namespace rollcast {

struct BenchRequest {
  std::vector<std::string> only;  // gemm, attention, memory, copy, launch, nccl; empty: all of them
  std::string model;              // of the catalog; gemm, attention and memory need one
  int tp = 1;
  int ep = 1;
  bool whole_experts = false;  // experts are not cut by tp
  std::vector<std::string> dtypes = {"bf16", "fp8"};
  std::string gpu;  // name for the samples file; "": the driver's
  int device = 0;   // CUDA device number; nccl takes all of them
  bool sustained = false;
  Seconds duration = seconds(120);  // of a sustained row
};

struct BenchProgram {
  std::string name;  // file name, rollcast_bench_gemm
  std::vector<std::string> arguments;
};

// error: one sentence, nothing to start then. left_out: sentences about programs that cannot measure this
// model. Burst: the products of all passes over many numbers of tokens, attention over batches and lengths,
// passes, copies, launches and collectives over sizes. Sustained: one large size of each instead of many,
// launches left out.
struct BenchPlan {
  std::vector<BenchProgram> programs;
  std::vector<std::string> left_out;
  std::string error;
};

std::vector<std::string> const& bench_programs();  // gemm, attention, ...
BenchPlan bench_plan(BenchRequest const& request);

}  // namespace rollcast
