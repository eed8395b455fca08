// Samples scored by CPU workers: rules in the driver or in a few processes, code in sandboxes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "models/time_distribution.hpp"

namespace rollcast {

// What the workers did. Index i is sample i of the arrivals.
struct WorkerSchedule {
  std::vector<Seconds> start;
  std::vector<Seconds> finish;
  Seconds waiting;      // sum over samples of start - arrival
  Seconds busy;         // sum over workers of the time they serve
  Seconds first_start;  // from here to last_finish the workers are counted
  Seconds last_finish;

  // busy / (workers x (last_finish - first_start)): 1 when nobody idles before the end; 0 where nothing took
  // time.
  double utilization(int workers) const;
};

// Exact list scheduling: samples in order of arrival (ties by index), each on the worker that is free first;
// a worker is never idle while a sample waits. O(n log n). No samples: an empty schedule at time 0. workers
// < 1, sizes that differ or a negative service time are a std::logic_error.
//
// Finish times are monotone: with more workers, earlier arrivals or shorter services no sample starts later.
WorkerSchedule schedule_on_workers(std::vector<Seconds> const& arrivals, std::vector<Seconds> const& services,
                                   int workers);

// Workers that take `service` for each sample; the cut of the distribution is their time-out: a sample that
// runs into it occupies its worker until then and counts as scored (with the reward of a failure).
// overlap: samples are scored as they finish generation; without it all arrive when the last has finished.
struct ScoreWorkers {
  int workers = 1;  // 1: serial in the driver
  TimeDistribution service;
  bool overlap = false;
};

struct ScoredSamples {
  WorkerSchedule schedule;
  std::size_t timed_out = 0;
  Seconds exposed;  // from the end of generation to the last score: what the step waits for
};

// completions: when each sample's generation ended. Sample i takes the draw of key first + i (by index).
ScoredSamples score(ScoreWorkers const& s, std::vector<Seconds> const& completions, RandomKey first);

}  // namespace rollcast
