// rollcast_bench_memory: kernels that only move bytes, one row per kernel and number of tokens.
#include <algorithm>
#include <cmath>
#include <vector>

#include "calibrate/bench/device/arena.hpp"
#include "calibrate/bench/device/device.hpp"
#include "calibrate/bench/device/kernels.hpp"
#include "calibrate/bench/device/program.hpp"
#include "calibrate/bench/device/timer.hpp"

namespace rollcast {
namespace {

constexpr std::size_t kBf16 = 2;
constexpr std::size_t kFp32 = 4;

struct Bench {
  Device const& device;
  Timer& timer;
  SampleWriter& writer;
};

// Allocates, fills each set and times. fill and launch: (arena, set).
template <class Fill, class Body>
void run(Bench& b, Measured const& row, std::vector<std::size_t> const& sizes, Fill fill, Body launch) {
  Arena const arena(sizes, b.device);
  if (arena.sets() == 0) {
    b.writer.remark("left out, does not fit into memory: " + row.variant + " of " +
                    std::to_string(static_cast<long long>(row.shape.front())) + " tokens");
    return;
  }
  for (int set = 0; set < arena.sets(); ++set) fill(arena, set);
  b.timer.synchronize();
  b.timer.measure(row, arena.sets(), Enqueue::graph, [&](cudaStream_t, int set) { launch(arena, set); });
}

void norm(Bench& b, MemoryOptions const& o, int tokens) {
  auto const width = static_cast<std::size_t>(o.hidden);
  std::size_t const elements = width * static_cast<std::size_t>(tokens);
  cudaStream_t const stream = b.timer.stream();
  run(
      b, {"memory_pass", "norm", "bf16", {double(tokens), double(o.hidden)}, {}},
      {elements * kBf16, elements * kBf16, width * kBf16},
      [&](Arena const& a, int set) {
        fill_bf16(a.bf16(set, 1), elements, static_cast<std::uint64_t>(set), stream);
        fill_bf16(a.bf16(set, 2), width, static_cast<std::uint64_t>(set) + 1000, stream);
      },
      [&](Arena const& a, int set) {
        rms_norm(a.bf16(set, 0), a.bf16(set, 1), a.bf16(set, 2), tokens, static_cast<int>(width), stream);
      });
}

void activation(Bench& b, MemoryOptions const& o, int tokens) {
  std::size_t const elements = static_cast<std::size_t>(o.intermediate) * static_cast<std::size_t>(tokens);
  cudaStream_t const stream = b.timer.stream();
  run(
      b, {"memory_pass", "activation", "bf16", {double(tokens), double(o.intermediate)}, {}},
      {elements * kBf16, 2 * elements * kBf16},
      [&](Arena const& a, int set) {
        fill_bf16(a.bf16(set, 1), 2 * elements, static_cast<std::uint64_t>(set), stream);
      },
      [&](Arena const& a, int set) {
        swiglu(a.bf16(set, 0), a.bf16(set, 1), tokens, static_cast<int>(o.intermediate), stream);
      });
}

void rotate(Bench& b, MemoryOptions const& o, int tokens) {
  std::int64_t const heads = o.heads + o.kv_heads;
  std::int64_t const half = o.head_dim / 2;
  std::size_t const elements =
      static_cast<std::size_t>(heads * o.head_dim) * static_cast<std::size_t>(tokens);
  // True angles: the rotation is in place and launch after launch must keep the length of the vectors.
  std::vector<float> cosine(static_cast<std::size_t>(half) * static_cast<std::size_t>(tokens));
  std::vector<float> sine(cosine.size());
  for (std::size_t i = 0; i < cosine.size(); ++i) {
    auto const position = static_cast<double>(i / static_cast<std::size_t>(half));
    auto const pair = static_cast<double>(i % static_cast<std::size_t>(half));
    double const angle = position * std::pow(10000.0, -pair / static_cast<double>(half));
    cosine[i] = static_cast<float>(std::cos(angle));
    sine[i] = static_cast<float>(std::sin(angle));
  }
  std::size_t const table = cosine.size() * kFp32;
  cudaStream_t const stream = b.timer.stream();
  run(
      b, {"memory_pass", "rope", "bf16", {double(tokens), double(heads * o.head_dim)}, {}},
      {elements * kBf16, table, table},
      [&](Arena const& a, int set) {
        fill_bf16(a.bf16(set, 0), elements, static_cast<std::uint64_t>(set), stream);
        ROLLCAST_CHECK(cudaMemcpyAsync(a.at(set, 1), cosine.data(), table, cudaMemcpyHostToDevice, stream));
        ROLLCAST_CHECK(cudaMemcpyAsync(a.at(set, 2), sine.data(), table, cudaMemcpyHostToDevice, stream));
      },
      [&](Arena const& a, int set) {
        rope(a.bf16(set, 0), a.fp32(set, 1), a.fp32(set, 2), tokens, static_cast<int>(heads),
             static_cast<int>(o.head_dim), stream);
      });
}

void add(Bench& b, MemoryOptions const& o, int tokens) {
  std::size_t const elements = static_cast<std::size_t>(o.hidden) * static_cast<std::size_t>(tokens);
  cudaStream_t const stream = b.timer.stream();
  run(
      b, {"memory_pass", "add", "bf16", {double(tokens), double(o.hidden)}, {}},
      {elements * kBf16, elements * kBf16, elements * kBf16},
      [&](Arena const& a, int set) {
        fill_bf16(a.bf16(set, 1), elements, static_cast<std::uint64_t>(set), stream);
        fill_bf16(a.bf16(set, 2), elements, static_cast<std::uint64_t>(set) + 1000, stream);
      },
      [&](Arena const& a, int set) {
        residual_add(a.bf16(set, 0), a.bf16(set, 1), a.bf16(set, 2), tokens, static_cast<int>(o.hidden),
                     stream);
      });
}

void log_softmax(Bench& b, MemoryOptions const& o, int tokens) {
  auto const rows = static_cast<std::size_t>(tokens);
  std::size_t const elements = static_cast<std::size_t>(o.vocab) * rows;
  cudaStream_t const stream = b.timer.stream();
  run(
      b, {"memory_pass", "log_softmax", "bf16", {double(tokens), double(o.vocab)}, {}},
      {elements * kBf16, rows * kFp32, rows * sizeof(std::int32_t)},
      [&](Arena const& a, int set) {
        fill_bf16(a.bf16(set, 0), elements, static_cast<std::uint64_t>(set), stream);
        fill_int32(static_cast<std::int32_t*>(a.at(set, 2)), rows, static_cast<std::int32_t>(o.vocab),
                   static_cast<std::uint64_t>(set) + 1000, stream);
      },
      [&](Arena const& a, int set) {
        log_softmax_gather(a.fp32(set, 1), a.bf16(set, 0), static_cast<std::int32_t const*>(a.at(set, 2)),
                           tokens, static_cast<int>(o.vocab), stream);
      });
}

void adam_step(Bench& b, MemoryOptions const& o, int tokens) {
  std::size_t const count = static_cast<std::size_t>(o.hidden) * static_cast<std::size_t>(tokens);
  cudaStream_t const stream = b.timer.stream();
  run(
      b, {"memory_pass", "adam", "fp32", {double(tokens), double(o.hidden)}, {}},
      {count * kFp32, count * kFp32, count * kFp32, count * kBf16, count * kBf16},
      [&](Arena const& a, int set) {
        fill_fp32(a.fp32(set, 0), count, static_cast<std::uint64_t>(set), stream);
        // Moments start at zero, as those of an optimizer do: a second moment is never negative.
        ROLLCAST_CHECK(cudaMemsetAsync(a.at(set, 1), 0, count * kFp32, stream));
        ROLLCAST_CHECK(cudaMemsetAsync(a.at(set, 2), 0, count * kFp32, stream));
        fill_bf16(a.bf16(set, 3), count, static_cast<std::uint64_t>(set) + 1000, stream);
      },
      [&](Arena const& a, int set) {
        adam(a.fp32(set, 0), a.fp32(set, 1), a.fp32(set, 2), a.bf16(set, 3), a.bf16(set, 4), count, stream);
      });
}

void bench(MemoryOptions const& o) {
  Device const device = open_device(o.run.device);
  SampleWriter writer(o.run.output, header_of(device, "rollcast_bench_memory", o.run.gpu, ""));
  Timer timer(device, o.run, writer);
  Bench b{device, timer, writer};
  struct Kernel {
    char const* name;
    void (*run)(Bench&, MemoryOptions const&, int);
  };
  constexpr Kernel kKernels[] = {{"norm", norm}, {"activation", activation},   {"rope", rotate},
                                 {"add", add},   {"log_softmax", log_softmax}, {"adam", adam_step}};
  for (Kernel const& k : kKernels) {
    if (std::find(o.kernels.begin(), o.kernels.end(), k.name) == o.kernels.end()) continue;
    for (std::int64_t const tokens : o.tokens) k.run(b, o, static_cast<int>(tokens));
  }
}

}  // namespace
}  // namespace rollcast

int main(int argc, char** argv) {
  return rollcast::run_program(argc, argv, rollcast::memory_options, rollcast::bench);
}
