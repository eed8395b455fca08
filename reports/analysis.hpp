// What an event log says: the figures of every report. Pure; the log is the only input.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "reports/goodput_report.hpp"
#include "reports/sample_use.hpp"
#include "reports/serving_figures.hpp"
#include "reports/sync_breakdown.hpp"
#include "reports/timeline.hpp"
#include "sim/event_log.hpp"

namespace rollcast {

// Over the completed steps, quantiles by linear interpolation between order statistics.
struct StepTimes {
  int steps = 0;  // 0: no step was completed and the others mean nothing
  Seconds mean;
  Seconds p10;
  Seconds p50;
  Seconds p90;
};

// A phase on a pool, in order of first start. mean: window time per completed step (per step that has
// windows, if none was completed). exposed: the part that no window of another pool overlaps.
struct PhaseTime {
  Phase phase = Phase::generate;
  int pool = 0;
  Seconds mean;
  Seconds exposed;
  ActivityTimes by_activity{};  // mean over the pool's ranks, per step
};

// One line of a ledger at its peak.
struct MemoryShare {
  Role role = Role::actor;
  MemoryCategory category = MemoryCategory::weights;
  Bytes bytes;
};

// Ranks with one ledger. The peak is over the phases that the log has windows of on that pool (over all
// phases if it has none); bytes are per rank.
struct LedgerPeak {
  std::string name;
  int pool = 0;
  int ranks = 0;
  Bytes capacity;
  Bytes bytes;
  Phase phase = Phase::generate;
  Bytes host_bytes;       // largest over the phases, per rank
  Bytes trainer_tensors;  // largest over the phases: without engine, CUDA contexts and communicators
  std::vector<MemoryShare> shares;  // of the peak phase, GPU, largest first
  // The most that PyTorch's allocator had in use, and held of the driver; 0: it was not followed.
  Bytes torch_allocated;
  Bytes torch_reserved;
};

// Utilization of a pool from the first step's start to the last step's end (over all spans if no step was
// completed). Fractions are of rank time: busy + the sum of idle_by_cause = 1.
struct PoolUse {
  std::string name;
  std::string node;
  std::string gpu;
  int gpus = 0;
  double busy_fraction = 0;
  std::vector<std::pair<std::string, double>> idle_by_cause;  // waiting activities, then "unaccounted"
  double mfu = 0;                                             // model FLOPs / (peak x time x GPUs)
  double mbu = 0;                   // HBM bytes of generate / (bandwidth x generate windows x GPUs)
  Bytes capacity;                   // of one GPU
  std::optional<std::size_t> peak;  // index into Analysis::ledgers: the rank class nearest to its capacity
  PriceNote prices;
};

// Per step: on each phase window in order, the rank class that worked last, and how its time divides. Time
// that an earlier window covers counts there; time between windows is phase "between_phases". The sum is the
// mean step time.
struct PathShare {
  std::string phase;
  std::string cause;  // activity, or "unaccounted"
  Seconds seconds;
};

// What removing one cause entirely could save per step at most, largest first, those of 1 % of a step and
// more.
enum class LeverKind {
  rollout_tail,
  switching,
  pipeline_bubble,
  collective_wait,
  phase_wait,
  communication,
  driver
};
struct Lever {
  LeverKind kind = LeverKind::rollout_tail;
  int pool = 0;
  Seconds at_most;
};

// A measured value beside the forecast's, by the names of a scenario's `measured:` block. The forecast is
// absent where the log does not tell it: a host's memory, a pool's figures when there are several pools, a
// phase that the run does not have. Sums of phases: logprob (old_logprob, reference), experience (generate,
// score, old_logprob, reference, values), update (of actor and critic), switch (sleep, wake, weight_sync).
// generate_wait: what the actor's pool waits between its phases, where other GPUs generate. Of serving by the
// names of reports/serving_columns.
struct Comparison {
  std::string name;
  double measured = 0;
  std::optional<double> forecast;
};

struct Analysis {
  std::string scenario;
  std::uint64_t seed = 0;
  Outcome outcome = Outcome::completed;
  std::string outcome_reason;
  std::vector<std::string> notes;
  std::int64_t gpus = 0;
  StepTimes step;
  std::vector<PhaseTime> phases;
  std::optional<SyncBreakdown> weight_sync;  // of a run that has one
  double tokens_per_second_per_gpu = 0;      // (prompt + response tokens) / (step time x all GPUs)
  double samples_per_second = 0;
  double mean_response_tokens = 0;
  double gpu_hours_per_step = 0;
  std::int64_t preemptions = 0;
  SampleUse samples;
  std::vector<PoolUse> pools;
  std::vector<LedgerPeak> ledgers;
  std::vector<OomRecord> ooms;
  std::vector<FailureRecord> failures;
  std::vector<StallRecord> stalls;
  std::vector<Happening> happenings;
  std::vector<Remedy> remedies;
  std::vector<PathShare> critical_path;
  std::vector<Lever> levers;
  std::optional<GoodputReport> long_run;  // of a completed run whose scenario asks for it
  std::optional<ServingFigures> serving;  // of a run that serves; it is one step, without levers
  std::vector<Comparison> measured;
  std::string measured_source;
};

// The mean time of the weight sync over that of its wire alone; nothing where nothing is sent.
std::optional<double> sync_over_wire(Analysis const& a);
// Seconds per step in which some pool is in its weight sync.
Seconds sync_time(Analysis const& a);

// The log must be consistent (indices in range), as simulate() and read_log give it.
Analysis analyse(EventLog const& log);

}  // namespace rollcast
