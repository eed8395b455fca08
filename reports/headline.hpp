// The figures that forecasts are compared by, few enough to be passed between processes and kept by the
// thousand. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/outcome.hpp"
#include "models/phase.hpp"
#include "models/units.hpp"
#include "reports/serving_columns.hpp"

namespace rollcast {

struct Analysis;

struct PhaseHeadline {
  Phase phase = Phase::generate;
  int pool = 0;  // index into Headline::pools
  Seconds mean;
};

struct PoolHeadline {
  std::string name;
  int gpus = 0;
  double busy_fraction = 0;
  double mfu = 0;
  double mbu = 0;
  // Of the rank class nearest to its capacity; 0: no ledger.
  Bytes peak;
  Bytes capacity;
  Phase peak_phase = Phase::generate;
  Bytes host_peak;  // per rank
  Seconds work;     // per step, in its phases, less what engines without samples wait in generate
};

// Of one run. A run that completed no step has steps = 0, and no times, rates and costs.
struct Headline {
  Outcome outcome = Outcome::completed;
  std::string reason;  // why it is not completed
  std::int64_t gpus = 0;
  int steps = 0;
  Seconds step;  // mean
  double tokens_per_second_per_gpu = 0;
  double samples_per_second = 0;
  double gpu_hours_per_step = 0;
  std::optional<double> dollars_per_step;  // where every GPU has a price; of a Job, so headline_of has none
  double mean_response_tokens = 0;
  std::optional<double> mean_staleness;  // weight updates
  std::int64_t preemptions = 0;
  Seconds sync;  // per step
  std::vector<PoolHeadline> pools;
  std::vector<PhaseHeadline> phases;
  std::optional<ServingHeadline> serving;  // of a run that serves, which is one step
};

Headline headline_of(Analysis const& a);

// Whether it says how long a step takes: a run that ended early may have completed some, too.
bool is_complete(Headline const& h);
// Why it is not: its reason, else the outcome's name.
std::string why_not(Headline const& h);
// dollars_per_step, of what all GPUs cost an hour (models/rent.hpp).
void add_rent(Headline& h, std::optional<double> dollars_per_hour);

// JSON, on one line, and back. from_text: std::runtime_error for any other text.
std::string to_text(Headline const& h);
Headline headline_from_text(std::string const& text);

}  // namespace rollcast
