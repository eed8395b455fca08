// One layout among those that are compared: what it is, what its runs showed, and the figures over all of
// them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "reports/analysis.hpp"
#include "reports/collective_wait.hpp"
#include "reports/forecast.hpp"

namespace rollcast {

// Of one seed: the headline and what it leaves out. By index of Headline::pools and Headline::phases.
struct ContenderRun {
  Headline headline;
  std::vector<Seconds> steps;                                              // that were completed
  std::vector<std::string> gpus;                                           // of each pool
  std::vector<std::vector<std::pair<std::string, double>>> idle_by_cause;  // of each pool
  std::vector<Seconds> exposed;                                            // of each phase
  std::vector<PathShare> critical_path;                                    // per step
  std::optional<CollectiveWait> collective_wait;
  std::optional<double> dollars_per_hour;  // of all GPUs
};

// Takes part in the place of the catalog's price: "h100-sxm" -> 2.1.
struct GpuRent {
  std::string gpu;
  double dollars_per_hour = 0;
};

// Simulates in this process, which must not have simulated before. infeasible as forecast() has it.
ContenderRun contender_run(ScenarioSource const& source, ForecastTask const& task,
                           std::vector<GpuRent> const& rents);
ContenderRun contender_run(EventLog const& log, Job const& job, std::vector<GpuRent> const& rents);

// One line, and back. from_text: std::runtime_error for any other text.
std::string to_text(ContenderRun const& r);
ContenderRun contender_run_from_text(std::string const& text);
// Outcome::failed where the task's process ended otherwise.
ContenderRun contender_run_of(ApartResult const& result);

struct Contender {
  std::string name;  // no two have the same
  std::string file;
  std::vector<std::string> sets;
  std::string work;                // as ValidationCase::work; empty: not read
  std::vector<ContenderRun> runs;  // by seed
};

// Over the runs that completed; means count every run alike. Outcome and reason are those of the first run
// that did not complete.
struct ContenderFigures {
  Outcome outcome = Outcome::completed;
  std::string reason;
  int completed = 0;  // runs
  std::int64_t gpus = 0;
  // Over the steps of all runs, quantiles as in StepTimes. steps = 0: the others mean nothing.
  StepTimes step;
  double samples_per_step = 0;
  double tokens_per_step = 0;  // of prompts and responses
  double samples_per_second = 0;
  double tokens_per_second = 0;
  double gpu_hours_per_step = 0;
  std::optional<double> dollars_per_step;
  double mean_response_tokens = 0;
  std::optional<double> mean_staleness;
  double preemptions_per_step = 0;
  Seconds sync;          // per step
  Seconds exposed_sync;  // the part that lies on the critical path
  // Means; the peaks, and the longest wait, are the largest.
  std::vector<PoolHeadline> pools;
  std::vector<std::string> pool_gpus;
  std::vector<std::vector<std::pair<std::string, double>>> idle_by_cause;
  std::vector<PhaseHeadline> phases;
  std::vector<Seconds> exposed;
  std::vector<PathShare> critical_path;
  std::optional<CollectiveWait> collective_wait;
  std::optional<ServingHeadline>
      serving;  // of runs that serve; of each figure the mean over those that have it

  bool can_win(std::size_t runs) const { return completed > 0 && completed == static_cast<int>(runs); }
};

// Pools, memory and waits also of runs that did not complete, where none did.
ContenderFigures figures_of(std::vector<ContenderRun> const& runs);

}  // namespace rollcast
