// A long run with failures, forecast from the time of a step.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "models/goodput.hpp"
#include "sim/event_log.hpp"

namespace rollcast {

struct GoodputReport {
  LongRun run;  // with the time of a step
  std::int64_t gpus = 0;
  bool saves = false;  // the scenario has an interval; else it is the best one of the simulation
  int every = 0;
  Goodput with_every;
  int daly = 0;  // steps, by Daly's formula
  int best = 0;  // by simulation
  Goodput with_best;

  double gpu_hours_lost() const;  // of with_every, mean
};

// step: without checkpoints. Nothing where it takes no time. Means are over 200 runs.
std::optional<GoodputReport> goodput_report(LongRunPlan const& plan, Seconds step, std::int64_t gpus,
                                            std::uint64_t seed);

std::string goodput_heading(GoodputReport const& r);  // "Over 30 days"
std::string goodput_text(GoodputReport const& r, int width);
nlohmann::ordered_json goodput_json(GoodputReport const& r);

}  // namespace rollcast
