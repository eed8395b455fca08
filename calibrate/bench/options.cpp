#include "calibrate/bench/options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <type_traits>

#include "calibrate/bench/collective_sizes.hpp"
#include "calibrate/import/gpu_names.hpp"
#include "models/catalog/catalog.hpp"

namespace rollcast {
namespace {

constexpr int kBadInput = 2;
constexpr std::int64_t kMostBytes = std::int64_t{1} << 40;
constexpr std::int64_t kMost = 2147483647;  // tokens, widths: the kernels count in 32 bits

// A sentence for the user; ends up on standard error.
struct BadInput : std::runtime_error {
  using std::runtime_error::runtime_error;
};

void add_run_options(CLI::App& app, RunOptions& o, double& seconds) {
  app.add_option("--output", o.output, "Samples file to write (default: standard output)");
  app.add_option("--gpu", o.gpu, "Name of the GPU in the samples file (default: the driver's)");
  app.add_option("--warmup", o.warmup, "Launches before the clock starts")->check(CLI::Range(1, 100000));
  app.add_option("--repeats", o.repeats, "Timed samples per row")->check(CLI::Range(3, 100000));
  app.add_flag("--sustained", o.sustained,
               "Run each row without a pause for --seconds; the median is of the second half");
  seconds = o.duration.value;
  app.add_option("--seconds", seconds, "Length of a sustained row")->check(CLI::Range(1.0, 36000.0));
}

CLI::Option* add_numbers(CLI::App& app, char const* name, std::vector<std::int64_t>& values, char const* help,
                         std::int64_t most = kMost) {
  return app.add_option(name, values, help)->delimiter(',')->check(CLI::Range(std::int64_t{1}, most));
}

CLI::Option* add_number(CLI::App& app, char const* name, std::int64_t& value, char const* help) {
  return app.add_option(name, value, help)->check(CLI::Range(std::int64_t{1}, kMost));
}

CLI::Option* add_words(CLI::App& app, char const* name, std::vector<std::string>& values,
                       std::vector<std::string> const& known, char const* help) {
  return app.add_option(name, values, help)->delimiter(',')->check(CLI::IsMember(known));
}

Architecture const& architecture_of(std::string const& name) {
  Architecture const* const a = find_architecture(builtin_catalog(), name);
  if (a == nullptr) {
    throw BadInput("--model: the catalog has no '" + shown(name) +
                   "'; 'rollcast catalog list models' shows the names");
  }
  return *a;
}

std::vector<GemmShape> shapes_in(std::string_view text, std::string const& name) {
  ShapesRead read = read_shapes(text, name);
  if (!read.problems.empty()) {
    std::string message = format(read.problems);
    while (message.ends_with('\n')) message.pop_back();
    throw BadInput(message);
  }
  if (read.shapes.empty()) throw BadInput(name + ": no shapes in it");
  return read.shapes;
}

std::string contents_of(std::string const& file) {
  std::ifstream in(file, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  if (!in) throw BadInput("--shapes: cannot read '" + shown(file) + "'");
  return text.str();
}

// Readers of the samples file want a name that they know.
void check_gpu(std::string const& name) {
  if (!name.empty() && gpu_named_in(name).empty()) {
    throw BadInput("--gpu: the catalog has no '" + shown(name) +
                   "'; 'rollcast catalog list gpus' shows the names");
  }
}

// Runs the parser that `describe` fills, then `finish` on what it read.
template <class Options, class Describe, class Finish>
ReadOptions<Options> read(char const* name, char const* what, std::vector<std::string> const& arguments,
                          Describe describe, Finish finish) {
  ReadOptions<Options> result;
  CLI::App app(what, name);
  double seconds = 0;
  add_run_options(app, result.options.run, seconds);
  if constexpr (!std::is_same_v<Options, NcclOptions>) {  // that takes several
    app.add_option("--device", result.options.run.device, "CUDA device number")->check(CLI::Range(0, 1023));
  }
  describe(app, result.options);
  try {
    // CLI11 takes them from the back.
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
    result.options.run.duration = Seconds(seconds);
    check_gpu(result.options.run.gpu);
    finish(result.options);
  } catch (CLI::CallForHelp const&) {
    result.exit_code = 0;
    result.text = app.help();
  } catch (CLI::ParseError const& e) {
    result.exit_code = kBadInput;
    result.text = std::string(name) + ": " + e.what() + "; --help shows the options\n";
  } catch (BadInput const& e) {
    result.exit_code = kBadInput;
    result.text = std::string(name) + ": " + e.what() + "\n";
  }
  return result;
}

// Eight bf16 numbers are read at once: engines pad a vocabulary that does not divide.
constexpr std::int64_t kVector = 8;

std::int64_t cut_width(std::int64_t width, std::int64_t ranks) {
  std::int64_t const part = (width + ranks - 1) / ranks;
  return (part + kVector - 1) / kVector * kVector;
}

// Query heads must be whole groups of the KV heads.
void check_heads(std::int64_t heads, std::int64_t kv_heads) {
  if (heads % kv_heads != 0) {
    throw BadInput("--heads " + std::to_string(heads) + " is not a multiple of --kv-heads " +
                   std::to_string(kv_heads));
  }
}

}  // namespace

ReadOptions<GemmOptions> gemm_options(std::vector<std::string> const& arguments) {
  std::string file;
  std::string model;
  std::vector<std::string> triples;
  GemmWork work{{}, doubled_sizes(1, 16384), false};
  bool whole_experts = false;
  return read<GemmOptions>(
      "rollcast_bench_gemm", "Times matrix products through cuBLASLt", arguments,
      [&](CLI::App& app, GemmOptions& o) {
        app.add_option("--shapes", file, "Shapes file: lines m,n,k,pass,tensor");
        app.add_option("--model", model, "Shapes of a model of the catalog, cut as --tp and --ep say");
        app.add_option("--model-shapes", triples,
                       "One product m,n,k of y[m,n] = x[m,k] W[n,k]^T; repeatable");
        app.add_option("--tp", work.cut.tp, "Tensor-parallel ranks")->check(CLI::Range(1, 4096));
        app.add_option("--ep", work.cut.ep, "Expert-parallel ranks")->check(CLI::Range(1, 4096));
        app.add_flag("--whole-experts", whole_experts, "Experts are not cut by --tp (rollout engines)");
        add_numbers(app, "--tokens", work.tokens, "Numbers of tokens of --model");
        app.add_flag("--gradients", work.gradients, "Also the products of the backward pass of --model");
        add_words(app, "--dtype", o.dtypes, {"bf16", "fp8"}, "bf16, fp8");
      },
      [&](GemmOptions& o) {
        int const given = (file.empty() ? 0 : 1) + (model.empty() ? 0 : 1) + (triples.empty() ? 0 : 1);
        if (given != 1) throw BadInput("give one of --shapes FILE, --model NAME and --model-shapes M,N,K");
        if (!file.empty()) o.shapes = shapes_in(contents_of(file), file);
        for (std::string const& triple : triples) {
          auto const shapes = shapes_in(triple, "--model-shapes");
          o.shapes.insert(o.shapes.end(), shapes.begin(), shapes.end());
        }
        if (!model.empty()) {
          work.cut.whole_experts = whole_experts;
          o.shapes = gemm_shapes(architecture_of(model), work);
        }
      });
}

ReadOptions<AttentionOptions> attention_options(std::vector<std::string> const& arguments) {
  std::string model;
  int tp = 1;
  return read<AttentionOptions>(
      "rollcast_bench_attention", "Times attention through cuDNN: prefill, paged decode, backward", arguments,
      [&](CLI::App& app, AttentionOptions& o) {
        add_words(app, "--kind", o.kinds, {"prefill", "decode", "backward"}, "prefill, decode, backward");
        add_numbers(app, "--batch", o.batches, "Sequences");
        add_numbers(app, "--length", o.lengths, "Tokens per sequence of prefill and backward");
        add_numbers(app, "--context", o.contexts, "Tokens per sequence in the cache of decode");
        auto* const heads = add_number(app, "--heads", o.heads, "Query heads of this rank");
        auto* const kv_heads = add_number(app, "--kv-heads", o.kv_heads, "KV heads of this rank");
        auto* const head_dim = add_number(app, "--head-dim", o.head_dim, "Width of a head");
        add_number(app, "--page", o.page, "Tokens per page of the cache");
        add_number(app, "--most-tokens", o.most_tokens,
                   "Prefill and backward of more tokens, batch x length, are left out");
        app.add_option("--model", model, "Heads of a model of the catalog, cut as --tp says")
            ->excludes(heads)
            ->excludes(kv_heads)
            ->excludes(head_dim);
        app.add_option("--tp", tp, "Tensor-parallel ranks")->check(CLI::Range(1, 4096));
      },
      [&](AttentionOptions& o) {
        if (!model.empty()) {
          Architecture const& a = architecture_of(model);
          if (a.mla) throw BadInput("--model: latent attention has no cuDNN graph here; give --heads");
          if (a.heads % tp != 0) throw BadInput("--tp does not divide the heads");
          o.heads = a.heads / tp;
          o.kv_heads = std::max(1, a.kv_heads / tp);
          o.head_dim = a.head_dim;
        }
        check_heads(o.heads, o.kv_heads);
      });
}

ReadOptions<MemoryOptions> memory_options(std::vector<std::string> const& arguments) {
  std::string model;
  std::int64_t tp = 1;
  return read<MemoryOptions>(
      "rollcast_bench_memory", "Times kernels that only move bytes", arguments,
      [&](CLI::App& app, MemoryOptions& o) {
        add_words(app, "--kernel", o.kernels, {"norm", "activation", "rope", "add", "log_softmax", "adam"},
                  "norm, activation, rope, add, log_softmax, adam");
        add_numbers(app, "--tokens", o.tokens, "Tokens (adam: rows of --hidden parameters)");
        add_number(app, "--hidden", o.hidden, "Width of norm, add and adam");
        add_number(app, "--intermediate", o.intermediate, "Width of the activation");
        add_number(app, "--heads", o.heads, "Query heads of rope");
        add_number(app, "--kv-heads", o.kv_heads, "KV heads of rope");
        add_number(app, "--head-dim", o.head_dim, "Width of a head of rope");
        add_number(app, "--vocab", o.vocab, "Width of log_softmax");
        app.add_option("--model", model, "Widths of a model of the catalog, cut as --tp says");
        app.add_option("--tp", tp, "Tensor-parallel ranks")->check(CLI::Range(1, 4096));
      },
      [&](MemoryOptions& o) {
        if (!model.empty()) {
          Architecture const& a = architecture_of(model);
          o.hidden = a.hidden;
          o.intermediate = cut_width(a.intermediate > 0 ? a.intermediate : a.moe->expert_intermediate, tp);
          o.heads = (a.heads + tp - 1) / tp;
          o.kv_heads = std::max<std::int64_t>(1, a.kv_heads / tp);
          o.head_dim = a.head_dim;
          o.vocab = cut_width(a.vocab, tp);
        }
        for (auto const& [name, width] : {std::pair{"--hidden", o.hidden},
                                          {"--intermediate", o.intermediate},
                                          {"--head-dim", o.head_dim / 2},
                                          {"--vocab", o.vocab}}) {
          if (width < kVector || width % kVector != 0) {
            throw BadInput(std::string(name) + " must be a multiple of " +
                           (std::string_view(name) == "--head-dim" ? "16" : "8"));
          }
        }
      });
}

ReadOptions<CopyOptions> copy_options(std::vector<std::string> const& arguments) {
  return read<CopyOptions>(
      "rollcast_bench_copy", "Times copies: pinned host memory to and from the GPU, GPU to GPU", arguments,
      [&](CLI::App& app, CopyOptions& o) {
        add_words(app, "--kind", o.kinds, {"h2d", "d2h", "peer"}, "h2d, d2h, peer");
        add_numbers(app, "--bytes", o.bytes, "Sizes", kMostBytes);
      },
      [](CopyOptions&) {});
}

ReadOptions<LaunchOptions> launch_options(std::vector<std::string> const& arguments) {
  return read<LaunchOptions>(
      "rollcast_bench_launch", "Times launches of empty kernels, one by one and as a graph", arguments,
      [&](CLI::App& app, LaunchOptions& o) {
        add_numbers(app, "--kernels", o.kernels, "Kernels in a row")->check(CLI::Range(1, 10000));
      },
      [](LaunchOptions&) {});
}

ReadOptions<NcclOptions> nccl_options(std::vector<std::string> const& arguments) {
  return read<NcclOptions>(
      "rollcast_bench_nccl", "Times NCCL collectives on the GPUs of a node; across nodes under MPI",
      arguments,
      [&](CLI::App& app, NcclOptions& o) {
        add_words(app, "--operation", o.operations,
                  {"all_reduce", "all_gather", "reduce_scatter", "broadcast", "all_to_all", "send_recv"},
                  "all_reduce, all_gather, reduce_scatter, broadcast, all_to_all, send_recv");
        app.add_option("--smallest", o.smallest, "Bytes of the first message")
            ->check(CLI::Range(std::int64_t{4}, kMostBytes));
        app.add_option("--largest", o.largest, "Bytes of the last one; each is twice the one before")
            ->check(CLI::Range(std::int64_t{4}, kMostBytes));
        add_numbers(app, "--gpus", o.gpus,
                    "GPUs of each process, one round for each number (default: 2, 4, 8, ... and all; under "
                    "MPI: all)");
        app.add_option("--fabric", o.fabric, "Catalog name of the network, for rows of several nodes");
      },
      [](NcclOptions& o) {
        if (o.smallest > o.largest) throw BadInput("--smallest is larger than --largest");
        if (!o.fabric.empty() && find_fabric(builtin_catalog(), o.fabric) == nullptr) {
          throw BadInput("--fabric: the catalog has no '" + shown(o.fabric) +
                         "'; 'rollcast catalog list fabrics' shows the names");
        }
      });
}

}  // namespace rollcast
