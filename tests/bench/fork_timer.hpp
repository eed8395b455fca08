// Times one simulation in a forked child (SimGrid allows one per process): wall time and peak memory are
// measured in the child, so that the fork itself does not count.
#pragma once

#include <benchmark/benchmark.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <exception>

namespace rollcast {

struct ChildRun {
  double seconds = -1;  // negative: the child failed
  double peak_megabytes = 0;
};

template <class Body>
ChildRun run_in_child(Body const& body) {
  ChildRun result;
  int ends[2] = {-1, -1};
  if (pipe(ends) != 0) return result;
  pid_t const child = fork();
  if (child == 0) {
    try {
      auto const start = std::chrono::steady_clock::now();
      body();
      result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    } catch (std::exception const&) {
      _exit(1);
    }
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    result.peak_megabytes = static_cast<double>(usage.ru_maxrss) * 1024 / 1e6;
    _exit(write(ends[1], &result, sizeof result) == sizeof result ? 0 : 1);
  }
  close(ends[1]);
  if (read(ends[0], &result, sizeof result) != sizeof result) result.seconds = -1;
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return result;
}

// The loop of a benchmark registered with UseManualTime(): one child per iteration, and the largest peak
// memory as the counter "peak_MB". body returns when its simulation is over.
template <class Body>
void time_in_children(benchmark::State& state, Body const& body) {
  double peak = 0;
  for (auto _ : state) {
    ChildRun const run = run_in_child(body);
    if (run.seconds < 0) {
      state.SkipWithError("the simulation failed");
      break;
    }
    state.SetIterationTime(run.seconds);
    peak = peak < run.peak_megabytes ? run.peak_megabytes : peak;
  }
  state.counters["peak_MB"] = peak;
}

}  // namespace rollcast
