// How many GPUs to give to generation and how many to training: what forecasts of several splits and sizes
// say. Pure: forecasts in, conclusions out.
//
// Of a pool, the time with work per step is that of its phases, of the engines' (generate) less what those
// without a sample wait, of the trainer's (train) all of it. In a pipeline the longer of the two sets the
// pace.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/job.hpp"
#include "models/outcome.hpp"
#include "reports/headline.hpp"

namespace rollcast {

// Throughput in % per % of rollout GPUs below which more of them do not pay: a quarter of what they would
// bring if nothing else set the pace.
constexpr double kLeastGain = 0.25;
// More rollout GPUs that bring less do nothing worth telling.
constexpr double kNoGain = 0.05;
// Steps that differ by less are as fast.
constexpr double kAsFast = 0.005;
// Of its time that a trainer waits at least where its own speed does not set the pace.
constexpr double kTrainerWaits = 0.1;

enum class RatioSide { rollout, train };
// What a side lacks: GPUs; or nothing that GPUs would bring, because the samples that may be under way take
// as long on more of them.
enum class RatioLimit { gpus, bound };
struct RatioBottleneck {
  RatioSide side = RatioSide::train;
  RatioLimit limit = RatioLimit::gpus;
};

struct RatioSize {
  int rollout_gpus = 0;
  int train_gpus = 0;
  int total() const { return rollout_gpus + train_gpus; }
  bool operator==(RatioSize const& o) const {
    return rollout_gpus == o.rollout_gpus && train_gpus == o.train_gpus;
  }
};

// Where in the scenario the two sides are.
struct RatioPools {
  std::string rollout;
  std::string train;
};

// Means over the seeds. Colocated: both sizes are all GPUs, generate is the phase, train the other phases,
// sync also the engines' sleep and wake; the three take turns.
struct RatioPoint {
  RatioSize size;
  std::int64_t gpus = 0;                // of all pools
  std::optional<double> max_staleness;  // asynchronous: the bound
  double length_factor = 1;
  std::vector<Seconds> steps;  // one per seed, in the order of the seeds
  Seconds step;
  Seconds generate;
  Seconds train;
  Seconds sync;
  double samples_per_second = 0;
  double tokens_per_second_per_gpu = 0;
  double gpu_hours_per_step = 0;
  std::optional<double> dollars_per_step;
  double busy_rollout = 0;
  double busy_train = 0;
  std::optional<double> mean_staleness;
  double mean_response_tokens = 0;
  std::optional<RatioBottleneck> bottleneck;  // where it was asked for
};

// headlines: one per seed, all completed, at least one; std::logic_error otherwise, or where a pool is
// missing.
RatioPoint ratio_point(RatioSize const& size, RatioPools const& pools,
                       std::vector<Headline> const& headlines);

// Of b against a, by seed: b / a - 1. sure: all seeds agree which is faster, and there are several.
struct RatioChange {
  double mean = 0;  // of the means
  double low = 0;
  double high = 0;
  bool sure = false;
};
RatioChange step_change(RatioPoint const& a, RatioPoint const& b);

// Rollout GPUs at which generate = train, over points of one total in ascending order: log(generate / train)
// is taken as linear in log(rollout GPUs / trainer GPUs) between two points, as it is where both times go
// with the inverse of their GPUs. Nothing where generate / train does not pass 1.
std::optional<double> balance(std::vector<RatioPoint> const& split);

// The first size whose next one brings less than kLeastGain: log(step ratio) / log(rollout GPU ratio), over
// points in ascending order. Nothing where every one brings more, or there are fewer than two.
std::optional<int> knee(std::vector<RatioPoint> const& growth);

// Who sets the pace of p. Taking turns (synchronous): whose phases take longer. In a pipeline, with the same
// beside more rollout GPUs, `more`: if the trainer then hardly waits (kTrainerWaits), whoever has more work
// at p; if it waits all the same, generation where that made it faster by kLeastGain or more, else the
// trainer's side, by the bound of what it lets be under way. Without `more`, whoever has more work.
RatioBottleneck bottleneck(RatioPoint const& p, RatioPoint const* more, ScheduleKind schedule);

// Index of the fewest rollout GPUs within kAsFast of the least step time, and of the least dollars (where all
// have a price, else GPU-hours) per sample; the first of equals. Nothing in an empty list.
std::optional<std::size_t> fastest(std::vector<RatioPoint> const& points);
std::optional<std::size_t> cheapest(std::vector<RatioPoint> const& points);

// One thing changed at the base.
enum class RatioKnob { rollout_gpus, train_gpus, max_concurrent, max_staleness };
struct RatioWhatIf {
  RatioKnob knob = RatioKnob::rollout_gpus;
  double from = 0;
  double to = 0;
  RatioPoint point;
};

// The splits, and more rollout GPUs beside the trainer of the base, with responses of another length.
struct RatioLengths {
  double factor = 1;
  std::vector<RatioPoint> split;
  std::vector<RatioPoint> rollout;
};

struct RatioInfeasible {
  std::string curve;  // "split", "rollout", "train", "total", "staleness", "under_way"
  RatioSize size;
  double length_factor = 1;
  std::string reason;
};

struct ColocatedRun {
  std::optional<RatioPoint> point;
  std::vector<std::string> sets;  // what makes the file colocated
  std::string reason;             // why there is no point
};

enum class RatioBase { file, fastest };  // of the splits

struct RatioReport {
  std::string scenario;
  int steps = 0;
  std::vector<std::uint64_t> seeds;
  ScheduleKind schedule = ScheduleKind::synchronous;
  RatioPools pools;
  std::string rollout_node, rollout_gpu, train_node, train_gpu;
  int total = 0;  // GPUs of both
  std::optional<RatioPoint> base;
  RatioBase base_from = RatioBase::file;
  std::vector<RatioPoint> split;      // one total
  std::vector<RatioPoint> rollout;    // the trainer of the base
  std::vector<RatioPoint> train;      // the rollout GPUs of the base
  std::vector<RatioPoint> totals;     // in the base's proportion
  std::vector<RatioPoint> staleness;  // at the base
  std::vector<RatioWhatIf> what_ifs;  // at the base
  std::vector<RatioLengths> lengths;  // ascending factor, 1 among them
  std::vector<RatioInfeasible> infeasible;
  ColocatedRun colocated;
};

// Where the pools balance. Of the splits if they pass it, else of the rollout GPUs beside the base's trainer;
// sizes as that curve has them: of the total, or beside that trainer.
struct RatioBalance {
  double rollout_per_train = 0;
  double rollout_gpus = 0;
  double train_gpus = 0;
  bool of_split = true;
};
std::optional<RatioBalance> report_balance(RatioReport const& r);

// Least and most over the lengths that have one, as rollout GPUs of the same curve as report_balance(r), or
// of the splits where that is none.
struct BalanceBand {
  double low = 0;
  double high = 0;
  int lengths = 0;
};
std::optional<BalanceBand> balance_band(RatioReport const& r);
// Of one of r.lengths, in the same way.
std::optional<double> balance_of(RatioReport const& r, RatioLengths const& l);

// Which side has more work at every split that there is; nothing where that changes, or there is no split.
std::optional<RatioSide> longer_side(std::vector<RatioPoint> const& split);

// The point whose logarithm of rollout GPUs is nearest.
RatioSize nearest_size(std::vector<RatioPoint> const& points, double rollout_gpus);

std::string_view name_of(RatioSide s);
std::string_view name_of(RatioLimit l);
std::string_view name_of(RatioKnob k);
std::string_view name_of(RatioBase b);

}  // namespace rollcast
