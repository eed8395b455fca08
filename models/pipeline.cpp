#include "models/pipeline.hpp"

#include <algorithm>
#include <stdexcept>

namespace rollcast {
namespace {

using Times = std::vector<std::vector<StageTimes>>;

struct Step {
  int micro_batch = 0;
  bool backward = false;
};

int stages_of(Times const& times) {
  if (times.empty()) return 0;
  for (auto const& row : times) {
    if (row.size() != times.front().size()) throw std::logic_error("pipeline: rows of different length");
  }
  return static_cast<int>(times.front().size());
}

std::vector<Step> one_forward_one_backward_order(int stage, int stages, int micro_batches) {
  int const warm_up = std::min(micro_batches, stages - 1 - stage);
  std::vector<Step> order;
  int forward = 0;
  int backward = 0;
  while (forward < warm_up) order.push_back({forward++, false});
  while (forward < micro_batches) {
    order.push_back({forward++, false});
    order.push_back({backward++, true});
  }
  while (backward < micro_batches) order.push_back({backward++, true});
  return order;
}

// Runs each stage's list in order as its inputs arrive. end[stage][micro_batch]; negative: not run yet.
class Run {
 public:
  Run(Times const& times, Seconds transfer, std::vector<std::vector<Step>> orders)
      : times_(times), transfer_(transfer), orders_(std::move(orders)) {
    std::vector<Seconds> const nothing(times.size(), Seconds(-1));
    forward_end_.assign(orders_.size(), nothing);
    backward_end_.assign(orders_.size(), nothing);
  }

  PipelineSchedule schedule() {
    std::vector<std::vector<PipelineOp>> done(orders_.size());
    std::vector<Seconds> now(orders_.size());
    bool progress = true;
    while (progress) {
      progress = false;
      for (std::size_t s = 0; s < orders_.size(); ++s) {
        while (done[s].size() < orders_[s].size() && start_next(s, done[s], now[s])) progress = true;
      }
    }
    PipelineSchedule result;
    result.stage_end = now;
    for (std::size_t s = 0; s < orders_.size(); ++s) {
      if (done[s].size() < orders_[s].size()) throw std::logic_error("pipeline: schedule never completes");
      result.ops.insert(result.ops.end(), done[s].begin(), done[s].end());
      result.makespan = max(result.makespan, now[s]);
    }
    return result;
  }

 private:
  // Negative while an input has not been computed.
  Seconds input_ready(std::size_t s, Step step) const {
    auto const m = static_cast<std::size_t>(step.micro_batch);
    if (!step.backward) {
      if (s == 0) return Seconds(0);
      Seconds const end = forward_end_[s - 1][m];
      return end.value < 0 ? end : end + transfer_;
    }
    if (s + 1 == orders_.size()) return forward_end_[s][m];
    Seconds const end = backward_end_[s + 1][m];
    return end.value < 0 ? end : end + transfer_;
  }

  bool start_next(std::size_t s, std::vector<PipelineOp>& done, Seconds& now) {
    Step const step = orders_[s][done.size()];
    auto const m = static_cast<std::size_t>(step.micro_batch);
    Seconds const ready = input_ready(s, step);
    if (ready.value < 0) return false;
    StageTimes const& t = times_[m][s];
    PipelineOp op{static_cast<int>(s), step.micro_batch, step.backward, max(now, ready), Seconds(0)};
    op.end = op.start + (step.backward ? t.backward : t.forward);
    (step.backward ? backward_end_ : forward_end_)[s][m] = op.end;
    now = op.end;
    done.push_back(op);
    return true;
  }

  Times const& times_;
  Seconds transfer_;
  std::vector<std::vector<Step>> orders_;
  std::vector<std::vector<Seconds>> forward_end_;
  std::vector<std::vector<Seconds>> backward_end_;
};

}  // namespace

PipelineSchedule one_forward_one_backward(Times const& times, Seconds transfer) {
  int const stages = stages_of(times);
  std::vector<std::vector<Step>> orders;
  orders.reserve(static_cast<std::size_t>(stages));
  for (int s = 0; s < stages; ++s) {
    orders.push_back(one_forward_one_backward_order(s, stages, static_cast<int>(times.size())));
  }
  return Run(times, transfer, std::move(orders)).schedule();
}

PipelineSchedule forward_pipeline(Times const& times, Seconds transfer) {
  int const stages = stages_of(times);
  std::vector<Step> order;
  order.reserve(times.size());
  for (int m = 0; m < static_cast<int>(times.size()); ++m) order.push_back({m, false});
  return Run(times, transfer, std::vector<std::vector<Step>>(static_cast<std::size_t>(stages), order))
      .schedule();
}

}  // namespace rollcast
