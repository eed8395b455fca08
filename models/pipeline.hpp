// Pipeline schedules: exact, with micro-batches of unequal time.
#pragma once

#include <vector>

#include "models/stage_prices.hpp"

namespace rollcast {

// One forward or backward of a micro-batch on a stage, in schedule order per stage.
struct PipelineOp {
  int stage = 0;
  int micro_batch = 0;
  bool backward = false;
  Seconds start;
  Seconds end;
};
struct PipelineSchedule {
  std::vector<PipelineOp> ops;  // by stage, then by start
  std::vector<Seconds> stage_end;
  Seconds makespan;
};

// 1F1B (non-interleaved): times[micro_batch][stage]; transfer is the send/recv between neighbouring stages.
// Stage s of p runs min(m, p - 1 - s) forwards, then one forward and one backward in turn, then the remaining
// backwards. A forward waits for the forward of the stage before plus transfer, a backward for the backward
// of the stage after plus transfer (on the last stage: for its own forward). A transfer delays the receiver
// and occupies nobody. Equal times f, b and no transfer: makespan (m + p - 1)(f + b).
// Rows of different length are a std::logic_error.
PipelineSchedule one_forward_one_backward(std::vector<std::vector<StageTimes>> const& times,
                                          Seconds transfer);

// Forward only, micro-batches stream through the stages.
PipelineSchedule forward_pipeline(std::vector<std::vector<StageTimes>> const& times, Seconds transfer);

}  // namespace rollcast
