// The options of the benchmark programs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "calibrate/bench_shapes.hpp"
#include "models/units.hpp"

namespace rollcast {

// What every program takes.
struct RunOptions {
  std::string output;      // file; "": standard output
  std::string gpu;         // name for the samples file; "": the driver's
  int device = 0;          // CUDA device number
  int warmup = 10;         // launches before the clock starts
  int repeats = 30;        // samples, each of many launches
  bool sustained = false;  // without a pause for `duration` per row; the second half counts
  Seconds duration = seconds(120);
};

struct GemmOptions {
  RunOptions run;
  std::vector<GemmShape> shapes;
  std::vector<std::string> dtypes = {"bf16"};
};

struct AttentionOptions {
  RunOptions run;
  std::vector<std::string> kinds = {"prefill", "decode", "backward"};
  std::vector<std::int64_t> batches = {1, 2, 4, 8, 16, 32, 64, 128, 256};
  std::vector<std::int64_t> lengths = {128, 256, 512, 1024, 2048, 4096, 8192, 16384};  // prefill and backward
  std::vector<std::int64_t> contexts = {128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768};
  std::int64_t heads = 32;
  std::int64_t kv_heads = 8;
  std::int64_t head_dim = 128;
  std::int64_t page = 64;             // tokens per page of the decode cache
  std::int64_t most_tokens = 131072;  // batch x length of prefill and backward
};

struct MemoryOptions {
  RunOptions run;
  std::vector<std::string> kernels = {"norm", "activation", "rope", "add", "log_softmax", "adam"};
  std::vector<std::int64_t> tokens = {1, 16, 64, 256, 1024, 4096, 16384};
  std::int64_t hidden = 4096;         // norm, add, adam
  std::int64_t intermediate = 14336;  // activation
  std::int64_t heads = 32;            // rope: queries, beside kv_heads
  std::int64_t kv_heads = 8;
  std::int64_t head_dim = 128;
  std::int64_t vocab = 128256;  // log_softmax
};

struct CopyOptions {
  RunOptions run;
  std::vector<std::string> kinds = {"h2d", "d2h", "peer"};
  std::vector<std::int64_t> bytes = {4096, 65536, 1048576, 16777216, 268435456, 1073741824};
};

struct LaunchOptions {
  RunOptions run;
  std::vector<std::int64_t> kernels = {1, 10, 100, 1000};  // per launch of a graph, or in a row
};

struct NcclOptions {
  RunOptions run;
  std::vector<std::string> operations = {"all_reduce", "all_gather", "reduce_scatter",
                                         "broadcast",  "all_to_all", "send_recv"};
  std::int64_t smallest = 1024;  // bytes, doubled up to largest
  std::int64_t largest = 1073741824;
  std::vector<std::int64_t> gpus;  // of each process, one round for each number; empty: team_sizes()
  std::string fabric;              // catalog name, of several nodes
};

// exit_code >= 0: print `text` (help to standard output where it is 0, else to standard error) and leave.
template <class Options>
struct ReadOptions {
  Options options;
  int exit_code = -1;
  std::string text;
};

// argv without the program's name. Bad input: exit code 2. `--shapes` and `--model` of the matrix products
// are read here; one of --shapes, --model and --model-shapes is required.
ReadOptions<GemmOptions> gemm_options(std::vector<std::string> const& arguments);
ReadOptions<AttentionOptions> attention_options(std::vector<std::string> const& arguments);
ReadOptions<MemoryOptions> memory_options(std::vector<std::string> const& arguments);
ReadOptions<CopyOptions> copy_options(std::vector<std::string> const& arguments);
ReadOptions<LaunchOptions> launch_options(std::vector<std::string> const& arguments);
ReadOptions<NcclOptions> nccl_options(std::vector<std::string> const& arguments);

}  // namespace rollcast
