// rollcast_bench_launch: what launching costs. Rows of operation "launch", shape: kernels. Variants
//   enqueue  host time to enqueue that many empty kernels on an idle stream
//   stream   until the last of them has run: enqueue, run, synchronize
//   graph    the same kernels as one CUDA graph: launch, run, synchronize
// By the host's clock, as events cannot see what the host does.
#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "calibrate/bench/device/device.hpp"
#include "calibrate/bench/device/kernels.hpp"
#include "calibrate/bench/device/program.hpp"

namespace rollcast {
namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

struct Times {
  std::vector<double> enqueue;
  std::vector<double> whole;
};

template <class Body>
Times timed(RunOptions const& o, Stream const& stream, Body body) {
  for (int i = 0; i < o.warmup; ++i) body();
  stream.synchronize();
  Times times;
  auto const start = Clock::now();
  // A sustained run counts its second half.
  auto const counts = [&] { return !o.sustained || since(start) >= o.duration.value / 2; };
  auto const ends = [&] {
    if (o.sustained) return since(start) >= o.duration.value && !times.whole.empty();
    return times.whole.size() == static_cast<std::size_t>(o.repeats);
  };
  while (!ends()) {
    bool const counted = counts();
    auto const begin = Clock::now();
    body();
    double const enqueued = since(begin);
    stream.synchronize();
    double const whole = since(begin);
    if (!counted) continue;
    times.enqueue.push_back(enqueued);
    times.whole.push_back(whole);
  }
  return times;
}

void bench(LaunchOptions const& o) {
  Device const device = open_device(o.run.device);
  SampleWriter writer(o.run.output, header_of(device, "rollcast_bench_launch", o.run.gpu, ""));
  Stream const stream;
  std::string const mode = o.run.sustained ? "_sustained" : "";
  for (std::int64_t const kernels : o.kernels) {
    auto const all = [&] {
      for (std::int64_t i = 0; i < kernels; ++i) empty_kernel(stream.get());
    };
    auto const write = [&](std::string const& variant, std::vector<double> const& times) {
      writer.row({"launch", variant + mode, "", {static_cast<double>(kernels)}, spread_of(times)});
    };
    Times const one_by_one = timed(o.run, stream, all);
    write("enqueue", one_by_one.enqueue);
    write("stream", one_by_one.whole);
    Graph const graph(stream.get(), all);
    write("graph", timed(o.run, stream, [&] { graph.launch(stream.get()); }).whole);
  }
}

}  // namespace
}  // namespace rollcast

int main(int argc, char** argv) {
  return rollcast::run_program(argc, argv, rollcast::launch_options, rollcast::bench);
}
