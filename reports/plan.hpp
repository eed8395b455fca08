// The answer of `rollcast plan`: the fewest GPUs that a job runs on, its best layouts on a given number, and
// what each knob of the best one moves.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "reports/plan_search.hpp"

namespace rollcast {

struct PlanOptions {
  int gpus = 0;       // 0: as many as the file has
  int most_gpus = 0;  // for the minimum; 0: four times the file's
  int top = 5;
  bool exhaustive = false;
  std::uint64_t seed = 1;  // of lengths and of random starts
  std::vector<std::string> keep;
};

struct PlannedLayout {
  std::string placement;
  std::string schedule;
  Parallel trainer;
  int data_parallel = 0;
  int engines = 0;                                          // 0: nothing is generated
  std::vector<std::pair<std::string, std::string>> values;  // knob and value
  std::vector<std::string> sets;
  Headline headline;  // of the longer run
  LayoutPeak peak;    // by the ledger
  Bytes capacity;
};

// The best layout with one knob changed. Times are of the short runs, bytes of the ledger, on the fullest
// rank.
struct PlanEffect {
  std::string knob;
  std::string from;
  std::string to;
  std::optional<Seconds> step;                       // more than the best; nothing: it does not run
  std::string stops;                                 // why
  Bytes peak;                                        // more than the best
  std::vector<std::pair<Phase, Seconds>> phases;     // that take more or less, the largest change first
  std::vector<std::pair<Phase, Bytes>> phase_peaks;  // likewise
};

// What comes nearest where nothing fits.
struct PlanShortage {
  PlannedLayout layout;
  std::string what;  // "lacks 3.1 GiB on a GPU in update_actor"
};

struct MinimumGpus {
  int gpus = 0;
  PlannedLayout layout;
};

struct Plan {
  std::string scenario;
  std::uint64_t seed = 1;
  int file_gpus = 0;
  int gpus = 0;
  std::string node;  // catalog name of the node type
  int gpus_of_node = 0;
  std::int64_t written = 0;
  std::int64_t valid = 0;
  std::int64_t fitting = 0;
  std::size_t simulated = 0;
  bool exhaustive = false;
  bool pools_are_fixed = false;               // the file's pools allow no other placement
  std::optional<Headline> file;               // of the layout as it is, on its own number of GPUs
  std::vector<PlannedLayout> best;            // the fastest first
  std::optional<PlannedLayout> as_scheduled;  // the best with the file's schedule, where the best has another
  std::vector<PlanEffect> effects;            // largest change of the step's time first
  std::optional<PlanShortage> shortage;       // where best is empty
  std::vector<int> too_few;                   // GPUs on which nothing runs
  std::optional<MinimumGpus> minimum;         // nothing: none up to most_gpus
  int most_gpus = 0;
  std::vector<PlannedLayout> runs;  // every layout simulated, with its short run, the fastest first
};

Plan make_plan(ScenarioSource const& source, Scenario const& file, PlanOptions const& options,
               PlanForecasts const& forecasts);

// The verdict first, what to paste, the best layouts, and what each knob moves. Ends with a newline.
std::string plan_text(Plan const& p);
// Keys: json_schema.cpp.
std::string plan_json(Plan const& p);
// A row for each layout that was simulated, the fastest first:
// rank,outcome,step_seconds,seconds_per_sample,peak_bytes,placement,schedule, and a column for each knob.
std::string plan_csv(Plan const& p);

}  // namespace rollcast
