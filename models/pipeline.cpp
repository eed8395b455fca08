#include "models/pipeline.hpp"

#include <algorithm>
#include <stdexcept>

namespace rollcast {
namespace {

using Times = std::vector<std::vector<StageTimes>>;

struct Step {
  int micro_batch = 0;
  int stage = 0;
  bool backward = false;
};
using Order = std::vector<Step>;

int stages_of(Times const& times) {
  if (times.empty()) return 0;
  for (auto const& row : times) {
    if (row.size() != times.front().size()) throw std::logic_error("pipeline: rows of different length");
  }
  return static_cast<int>(times.front().size());
}

// Warm-up forwards, then one forward and one backward in turn, then the remaining backwards.
Order alternate(Order const& forwards, Order const& backwards, std::size_t warm_up) {
  Order order(forwards.begin(), forwards.begin() + static_cast<std::ptrdiff_t>(warm_up));
  for (std::size_t i = warm_up; i < forwards.size(); ++i) {
    order.push_back(forwards[i]);
    order.push_back(backwards[i - warm_up]);
  }
  order.insert(order.end(), backwards.end() - static_cast<std::ptrdiff_t>(warm_up), backwards.end());
  return order;
}

Order in_turn(int stage, int micro_batches, bool backward) {
  Order order;
  for (int m = 0; m < micro_batches; ++m) order.push_back({m, stage, backward});
  return order;
}

// A group of micro-batches through one chunk after the other, then the next group; backwards from the last
// chunk.
Order in_groups(int rank, Interleaving const& i, int micro_batches, bool backward) {
  Order order;
  for (int first = 0; first < micro_batches; first += i.group) {
    int const last = std::min(first + i.group, micro_batches);
    for (int c = 0; c < i.chunks; ++c) {
      int const chunk = backward ? i.chunks - 1 - c : c;
      for (int m = first; m < last; ++m) order.push_back({m, chunk * i.ranks + rank, backward});
    }
  }
  return order;
}

// Runs each rank's list in order as its inputs arrive. end[stage][micro_batch]; negative: not run yet.
class Run {
 public:
  Run(Times const& times, Seconds transfer, std::vector<Order> orders)
      : times_(times), transfer_(transfer), orders_(std::move(orders)) {
    std::vector<Seconds> const nothing(times.size(), Seconds(-1));
    auto const stages = static_cast<std::size_t>(stages_of(times));
    forward_end_.assign(stages, nothing);
    backward_end_.assign(stages, nothing);
  }

  PipelineSchedule schedule() {
    std::vector<std::vector<PipelineOp>> done(orders_.size());
    std::vector<Seconds> now(orders_.size());
    bool progress = true;
    while (progress) {
      progress = false;
      for (std::size_t r = 0; r < orders_.size(); ++r) {
        while (done[r].size() < orders_[r].size() && start_next(orders_[r], done[r], now[r])) progress = true;
      }
    }
    PipelineSchedule result;
    result.stage_end = now;
    for (std::size_t r = 0; r < orders_.size(); ++r) {
      if (done[r].size() < orders_[r].size()) throw std::logic_error("pipeline: schedule never completes");
      result.ops.insert(result.ops.end(), done[r].begin(), done[r].end());
      result.makespan = max(result.makespan, now[r]);
    }
    return result;
  }

 private:
  // Negative while an input has not been computed.
  Seconds input_ready(Step step) const {
    auto const s = static_cast<std::size_t>(step.stage);
    auto const m = static_cast<std::size_t>(step.micro_batch);
    if (!step.backward) {
      if (s == 0) return Seconds(0);
      Seconds const end = forward_end_[s - 1][m];
      return end.value < 0 ? end : end + transfer_;
    }
    if (s + 1 == forward_end_.size()) return forward_end_[s][m];
    Seconds const end = backward_end_[s + 1][m];
    return end.value < 0 ? end : end + transfer_;
  }

  bool start_next(Order const& order, std::vector<PipelineOp>& done, Seconds& now) {
    Step const step = order[done.size()];
    auto const s = static_cast<std::size_t>(step.stage);
    auto const m = static_cast<std::size_t>(step.micro_batch);
    Seconds const ready = input_ready(step);
    if (ready.value < 0) return false;
    StageTimes const& t = times_[m][s];
    PipelineOp op{step.stage, step.micro_batch, step.backward, max(now, ready), Seconds(0)};
    op.end = op.start + (step.backward ? t.backward : t.forward);
    (step.backward ? backward_end_ : forward_end_)[s][m] = op.end;
    now = op.end;
    done.push_back(op);
    return true;
  }

  Times const& times_;
  Seconds transfer_;
  std::vector<Order> orders_;
  std::vector<std::vector<Seconds>> forward_end_;
  std::vector<std::vector<Seconds>> backward_end_;
};

PipelineSchedule run_interleaved(Times const& times, Interleaving i, Seconds transfer, bool forward_only) {
  int const stages = stages_of(times);
  if (times.empty()) return {};
  int const micro_batches = static_cast<int>(times.size());
  if (i.group == 0) i.group = i.ranks;
  if (!interleaves(i, micro_batches) || stages != i.ranks * i.chunks) {
    throw std::logic_error("pipeline: micro-batches or stages cannot be interleaved");
  }
  std::vector<Order> orders;
  orders.reserve(static_cast<std::size_t>(i.ranks));
  for (int r = 0; r < i.ranks; ++r) {
    Order const forwards = in_groups(r, i, micro_batches, false);
    if (forward_only) {
      orders.push_back(forwards);
    } else {
      auto const warm_up = static_cast<std::size_t>(warm_up_forwards(i, r, micro_batches));
      orders.push_back(alternate(forwards, in_groups(r, i, micro_batches, true), warm_up));
    }
  }
  // A lone rank hands its activations to itself.
  return Run(times, i.ranks == 1 ? Seconds(0) : transfer, std::move(orders)).schedule();
}

}  // namespace

PipelineSchedule one_forward_one_backward(Times const& times, Seconds transfer) {
  int const stages = stages_of(times);
  int const micro_batches = static_cast<int>(times.size());
  std::vector<Order> orders;
  orders.reserve(static_cast<std::size_t>(stages));
  for (int s = 0; s < stages; ++s) {
    auto const warm_up = static_cast<std::size_t>(std::min(micro_batches, stages - 1 - s));
    orders.push_back(alternate(in_turn(s, micro_batches, false), in_turn(s, micro_batches, true), warm_up));
  }
  return Run(times, transfer, std::move(orders)).schedule();
}

PipelineSchedule forward_pipeline(Times const& times, Seconds transfer) {
  int const stages = stages_of(times);
  std::vector<Order> orders;
  orders.reserve(static_cast<std::size_t>(stages));
  for (int s = 0; s < stages; ++s) orders.push_back(in_turn(s, static_cast<int>(times.size()), false));
  return Run(times, transfer, std::move(orders)).schedule();
}

bool interleaves(Interleaving const& i, int micro_batches) {
  if (i.ranks < 1 || i.chunks < 1 || i.group < 0 || micro_batches < 1) return false;
  if (i.chunks == 1) return true;
  int const group = i.group == 0 ? i.ranks : i.group;
  int const rest = micro_batches % group;
  return group >= i.ranks && group <= micro_batches && (rest == 0 || rest >= i.ranks);
}

int warm_up_forwards(Interleaving const& i, int rank, int micro_batches) {
  int const after = i.ranks - 1 - rank;
  if (i.chunks == 1) return std::min(micro_batches, after);
  int const group = i.group == 0 ? i.ranks : i.group;
  return std::min(micro_batches * i.chunks, 2 * after + (i.chunks - 1) * group);
}

PipelineSchedule interleaved_one_forward_one_backward(Times const& times, Interleaving const& i,
                                                      Seconds transfer) {
  return run_interleaved(times, i, transfer, false);
}

PipelineSchedule interleaved_forward_pipeline(Times const& times, Interleaving const& i, Seconds transfer) {
  return run_interleaved(times, i, transfer, true);
}

}  // namespace rollcast
