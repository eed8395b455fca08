// rollcast_bench_attention: causal prefill, decode over a paged cache and the backward of the prefill,
// through cuDNN's graph API. One row per kind, batch and length.
#include <algorithm>
#include <numeric>
#include <random>

#include "calibrate/bench/device/arena.hpp"
#include "calibrate/bench/device/attention_graphs.hpp"
#include "calibrate/bench/device/device.hpp"
#include "calibrate/bench/device/kernels.hpp"
#include "calibrate/bench/device/program.hpp"
#include "calibrate/bench/device/timer.hpp"

namespace rollcast {
namespace {

// A tensor in memory: what it is and how many bytes it takes.
struct Buffer {
  AttentionTensor tensor;
  std::int64_t bytes;
};

class Cudnn {
 public:
  explicit Cudnn(cudaStream_t stream) {
    ROLLCAST_CHECK(cudnnCreate(&handle_));
    ROLLCAST_CHECK(cudnnSetStream(handle_, stream));
  }
  ~Cudnn() { cudnnDestroy(handle_); }
  Cudnn(Cudnn const&) = delete;
  Cudnn& operator=(Cudnn const&) = delete;

  void execute(CudnnPlan const& plan, CudnnDescriptor const& pack) const {
    ROLLCAST_CHECK(cudnnBackendExecute(handle_, plan.plan.get(), pack.get()));
  }

 private:
  cudnnHandle_t handle_ = nullptr;
};

// A graph with its plan and the workspace that one execution needs.
class Built {
 public:
  Built(CudnnGraph graph, CudnnDescriptor const& device)
      : graph_(std::move(graph)),
        plan_(graph_.plan(device)),
        workspace_(static_cast<std::size_t>(std::max<std::int64_t>(plan_.workspace, 1))) {}

  CudnnPlan const& plan() const { return plan_; }

  // One pack per set of the arena, whose buffers are those of the list.
  std::vector<CudnnDescriptor> packs(Arena const& arena, std::vector<Buffer> const& buffers) const {
    std::vector<CudnnDescriptor> list;
    for (int set = 0; set < arena.sets(); ++set) {
      std::map<std::int64_t, void*> pointers;
      for (std::size_t i = 0; i < buffers.size(); ++i) {
        if (graph_.has(buffers[i].tensor)) pointers[buffers[i].tensor] = arena.at(set, i);
      }
      list.push_back(variant_pack(plan_, pointers, workspace_.data()));
    }
    return list;
  }

 private:
  CudnnGraph graph_;
  CudnnPlan plan_;
  DeviceBuffer workspace_;
};

std::vector<std::size_t> sizes_of(std::vector<Buffer> const& buffers) {
  std::vector<std::size_t> sizes;
  for (Buffer const& b : buffers) sizes.push_back(static_cast<std::size_t>(b.bytes));
  return sizes;
}

std::string text_of(char const* kind, AttentionShape const& s) {
  return std::string(kind) + " of " + std::to_string(s.batch) + " x " + std::to_string(s.length) + " tokens";
}

class Bench {
 public:
  explicit Bench(AttentionOptions const& o)
      : options_(o),
        device_(open_device(o.run.device)),
        writer_(o.run.output, header_of(device_, "rollcast_bench_attention", o.run.gpu,
                                        "cudnn " + std::to_string(cudnnGetVersion()))),
        timer_(device_, o.run, writer_),
        cudnn_(timer_.stream()),
        properties_(cudnn_device(o.run.device)) {}

  void prefill(AttentionShape const& s) {
    std::int64_t const q = 2 * s.batch * s.length * s.heads * s.head_dim;
    std::int64_t const kv = 2 * s.batch * s.length * s.kv_heads * s.head_dim;
    std::vector<Buffer> const buffers = {{kQuery, q}, {kKey, kv}, {kValue, kv}, {kOutput, q}};
    Built const forward(prefill_graph(s, false), properties_);
    Arena const arena(sizes_of(buffers), device_);
    if (arena.sets() == 0) return leave_out(text_of("prefill", s));
    fill(arena, buffers);
    measure({"attention_prefill",
             "",
             "bf16",
             {double(s.batch), double(s.length), 0, double(s.heads), double(s.kv_heads), double(s.head_dim)},
             {}},
            forward, forward.packs(arena, buffers));
  }

  void decode(AttentionShape const& s) {
    std::int64_t const q = 2 * s.batch * s.heads * s.head_dim;
    std::int64_t const pages = s.batch * s.pages_per_sequence();
    std::int64_t const pool = 2 * pages * s.page * s.kv_heads * s.head_dim;
    std::vector<Buffer> const buffers = {{kQuery, q},
                                         {kKey, pool},
                                         {kValue, pool},
                                         {kOutput, q},
                                         {kQueryLengths, 4 * s.batch},
                                         {kContextLengths, 4 * s.batch},
                                         {kKeyPages, 4 * pages},
                                         {kValuePages, 4 * pages}};
    Built const step(decode_graph(s), properties_);
    Arena const arena(sizes_of(buffers), device_);
    if (arena.sets() == 0) return leave_out(text_of("decode", s));
    fill(arena, buffers);
    // A sequence's pages lie anywhere in the pool, as they do in an engine that has run for a while.
    std::vector<std::int32_t> table(static_cast<std::size_t>(pages));
    std::iota(table.begin(), table.end(), 0);
    std::shuffle(table.begin(), table.end(), std::mt19937_64(1));
    for (int set = 0; set < arena.sets(); ++set) {
      auto const count = static_cast<std::size_t>(s.batch);
      fill_int32_with(static_cast<std::int32_t*>(arena.at(set, 4)), count, 1, timer_.stream());
      fill_int32_with(static_cast<std::int32_t*>(arena.at(set, 5)), count,
                      static_cast<std::int32_t>(s.length), timer_.stream());
      for (std::size_t const buffer : {std::size_t{6}, std::size_t{7}}) {
        ROLLCAST_CHECK(cudaMemcpyAsync(arena.at(set, buffer), table.data(), 4 * table.size(),
                                       cudaMemcpyHostToDevice, timer_.stream()));
      }
    }
    timer_.synchronize();
    measure({"attention_decode",
             "",
             "bf16",
             {double(s.batch), double(s.length), double(s.heads), double(s.kv_heads), double(s.head_dim)},
             {}},
            step, step.packs(arena, buffers));
  }

  void backward(AttentionShape const& s) {
    std::int64_t const q = 2 * s.batch * s.length * s.heads * s.head_dim;
    std::int64_t const kv = 2 * s.batch * s.length * s.kv_heads * s.head_dim;
    std::int64_t const row = 4 * s.batch * s.length * s.heads;
    std::vector<Buffer> const buffers = {{kQuery, q},
                                         {kKey, kv},
                                         {kValue, kv},
                                         {kOutput, q},
                                         {kStats, row},
                                         {kOutputGradient, q},
                                         {kQueryGradient, q},
                                         {kKeyGradient, kv},
                                         {kValueGradient, kv},
                                         {kSoftmaxSum, row},
                                         {kQueryGradient32, 2 * q}};
    std::size_t const sums = buffers.size() - 1;
    Built const forward(prefill_graph(s, true), properties_);
    Built const gradients(backward_graph(s), properties_);
    Arena const arena(sizes_of(buffers), device_);
    if (arena.sets() == 0) return leave_out(text_of("backward", s));
    fill(arena, buffers);
    // Output and statistics of a true forward: the probabilities are computed again from them.
    for (CudnnDescriptor const& pack : forward.packs(arena, buffers)) cudnn_.execute(forward.plan(), pack);
    timer_.synchronize();
    measure(
        {"attention_backward",
         "backward",
         "bf16",
         {double(s.batch), double(s.length), double(s.heads), double(s.kv_heads), double(s.head_dim)},
         {}},
        gradients, gradients.packs(arena, buffers), [&](cudaStream_t stream, int set) {
          // The kernel adds to it, so that every backward begins with zeros: part of its time.
          ROLLCAST_CHECK(cudaMemsetAsync(arena.at(set, sums), 0, static_cast<std::size_t>(2 * q), stream));
        });
  }

  // Runs `kind`, or says in a remark that cuDNN cannot.
  void run(char const* name, void (Bench::*kind)(AttentionShape const&), std::int64_t batch,
           std::int64_t length) {
    AttentionShape const s = shape(batch, length);
    try {
      (this->*kind)(s);
    } catch (NoPlan const& e) {
      writer_.remark("left out, " + std::string(e.what()) + ": " + text_of(name, s));
    }
  }

 private:
  AttentionShape shape(std::int64_t batch, std::int64_t length) const {
    return {batch, length, options_.heads, options_.kv_heads, options_.head_dim, options_.page};
  }

  // Random numbers in what a kernel reads as numbers.
  void fill(Arena const& arena, std::vector<Buffer> const& buffers) {
    for (int set = 0; set < arena.sets(); ++set) {
      for (std::size_t i = 0; i < buffers.size(); ++i) {
        AttentionTensor const t = buffers[i].tensor;
        if (t != kQuery && t != kKey && t != kValue && t != kOutputGradient) continue;
        fill_bf16(arena.bf16(set, i), static_cast<std::size_t>(buffers[i].bytes / 2),
                  static_cast<std::uint64_t>(set) * 16 + i, timer_.stream());
      }
    }
    timer_.synchronize();
  }

  // `before`: what an execution needs on the stream first.
  void measure(
      Measured const& row, Built const& built, std::vector<CudnnDescriptor> const& packs,
      Launch const& before = [](cudaStream_t, int) {}) {
    timer_.measure(row, static_cast<int>(packs.size()), Enqueue::graph, [&](cudaStream_t stream, int set) {
      before(stream, set);
      cudnn_.execute(built.plan(), packs[static_cast<std::size_t>(set)]);
    });
  }

  void leave_out(std::string const& what) { writer_.remark("left out, does not fit into memory: " + what); }

  AttentionOptions const& options_;
  Device device_;
  SampleWriter writer_;
  Timer timer_;
  Cudnn cudnn_;
  CudnnDescriptor properties_;
};

void bench(AttentionOptions const& o) {
  Bench b(o);
  auto const wanted = [&](char const* kind) {
    return std::find(o.kinds.begin(), o.kinds.end(), kind) != o.kinds.end();
  };
  for (std::int64_t const batch : o.batches) {
    for (std::int64_t const length : o.lengths) {
      if (batch * length > o.most_tokens) continue;
      if (wanted("prefill")) b.run("prefill", &Bench::prefill, batch, length);
      if (wanted("backward")) b.run("backward", &Bench::backward, batch, length);
    }
    for (std::int64_t const context : o.contexts) {
      if (wanted("decode")) b.run("decode", &Bench::decode, batch, context);
    }
  }
}

}  // namespace
}  // namespace rollcast

int main(int argc, char** argv) {
  return rollcast::run_program(argc, argv, rollcast::attention_options, rollcast::bench);
}
