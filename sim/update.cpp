// An update: optimizer steps of every replica with its gradient reduction, data-parallel collectives between
// replicas.
#include <algorithm>
#include <memory>
#include <optional>

#include "models/host_optimizer.hpp"
#include "models/prices.hpp"
#include "sim/replica_run.hpp"
#include "sim/sample_shards.hpp"
#include "sim/stalled_groups.hpp"
#include "sim/time_limits.hpp"

namespace rollcast {
namespace {

// What one group of ranks reduces and gathers: the dense tensors, or the experts.
struct Reduction {
  std::vector<CommunicatorId> const& communicators;       // of each pipeline rank
  std::vector<std::vector<GradientBucket>> buckets = {};  // of each
  std::vector<std::vector<CollectivePrice>> bucket_prices = {};
  std::vector<CollectivePrice> gather_prices = {};  // parameters, used with a sharded optimizer
};

// What all replicas of an update share. Actors run one at a time. Pipeline ranks hold one stage or several.
struct Update {
  RunState& run;
  Team& team;
  PhaseRecorder recorder;
  std::vector<std::vector<ReplicaTimes>> steps = {};  // [optimizer step][replica]
  std::vector<Reduction> reductions = {};
  std::vector<Seconds> optimizer = {};  // of each pipeline rank
  int replicas_left = 0;
  Wake done = {};

  TrainerOptions const& train() const { return team.job.train; }
  std::size_t ranks() const { return static_cast<std::size_t>(train().parallel.pp); }
  bool sharded() const { return train().distributed_optimizer || train().zero_stage >= 1; }
};

Group group_of(Job const& job, std::vector<int> const& ranks) {
  return {.ranks = static_cast<int>(ranks.size()), .nodes = nodes_of(job, ranks), .sharing = 1};
}

// Of all chunks of a pipeline rank, in the order in which they are ready: the first chunk's backward is last.
std::vector<GradientBucket> buckets_of_rank(Update const& u, std::size_t rank, bool experts) {
  std::vector<GradientBucket> all;
  for (std::size_t s = u.team.stages.size() - u.ranks() + rank;; s -= u.ranks()) {
    auto of_stage = gradient_buckets(u.team.job, u.team.stages[s]);
    std::erase_if(of_stage, [&](GradientBucket const& b) { return b.experts != experts; });
    if (s != rank) {
      for (GradientBucket& b : of_stage) b.ready = 0;
    }
    all.insert(all.end(), of_stage.begin(), of_stage.end());
    if (s == rank) return all;
  }
}

// What the paged states of a pipeline rank cost beyond their step.
Seconds paging(Update const& u, std::size_t rank) {
  PoolState const& pool = *u.team.pool;
  RankLedger const& ledger = pool.ledger_of(pool.placement.classes_of_stage.front()[rank].front());
  Phase const phase = u.recorder.phase;
  Bytes states;
  for (LedgerLine const& line : ledger.lines) {
    if (line.host && line.role == u.team.role && line.category == MemoryCategory::optimizer_states)
      states += line.bytes;
  }
  return paging_time(pool.profile, states, ledger.capacity - total(ledger, phase));
}

Reduction reduction_of(Update const& u, bool experts) {
  Job const& job = u.team.job;
  CollectivePrices& prices = *u.team.pool->prices;
  CollectiveKind const reduce = u.sharded() ? CollectiveKind::reduce_scatter : CollectiveKind::all_reduce;
  Reduction r{experts ? u.team.expert_gradients : u.team.gradients};
  for (std::size_t rank = 0; rank < u.ranks(); ++rank) {
    int const stage = static_cast<int>(rank);
    auto const groups = experts ? expert_gradient_groups(job, stage) : gradient_groups(job, stage);
    Group const group = group_of(job, groups.front());
    std::vector<CollectivePrice> of_bucket;
    r.buckets.push_back(buckets_of_rank(u, rank, experts));
    for (GradientBucket const& b : r.buckets.back()) of_bucket.push_back(prices.at(reduce, group, b.bytes));
    r.bucket_prices.push_back(std::move(of_bucket));
    double parameters = 0;
    for (std::size_t s = rank; s < u.team.stages.size(); s += u.ranks()) {
      double const of_experts = stage_expert_parameters(job, u.team.stages[s]);
      bool const apart = !u.team.expert_gradients.empty();
      parameters += experts ? of_experts : stage_parameters(job, u.team.stages[s]) - (apart ? of_experts : 0);
    }
    r.gather_prices.push_back(
        prices.at(CollectiveKind::all_gather, group, size_of(job.train.weights) * parameters));
  }
  return r;
}

void price_collectives(Update& u) {
  u.reductions.push_back(reduction_of(u, false));
  if (!u.team.expert_gradients.empty()) u.reductions.push_back(reduction_of(u, true));
  for (std::size_t rank = 0; rank < u.ranks(); ++rank) {
    Seconds optimizer;
    for (std::size_t s = rank; s < u.team.stages.size(); s += u.ranks())
      optimizer += optimizer_time(u.team.pool->profile, u.team.job, u.team.stages[s]);
    if (u.team.job.train.paged_optimizer) optimizer += paging(u, rank);
    u.optimizer.push_back(optimizer);
  }
}

// An operation of a communicator.
struct Posted {
  CommunicatorId communicator;
  std::int64_t operation = 0;
  std::size_t stage = 0;
};

// Posts the gradient buckets of one replica's stage; returns the last operation, none without buckets.
std::optional<Posted> post_buckets(Update& u, Reduction const& r, int replica, std::size_t stage,
                                   Seconds last_backward_start, Seconds last_backward_end) {
  std::vector<Arrival> arrivals;
  auto const& buckets = r.buckets[stage];
  bool const overlap = u.train().overlap_gradient_reduce;
  Seconds const length = last_backward_end - last_backward_start;
  for (std::size_t b = 0; b < buckets.size(); ++b) {
    Seconds const ready = overlap ? last_backward_start + length * buckets[b].ready : last_backward_end;
    arrivals.push_back({ready, r.bucket_prices[stage][b]});
  }
  if (arrivals.empty()) return {};
  std::int64_t const first = u.run.collectives.post(r.communicators[stage], replica, arrivals);
  return Posted{r.communicators[stage], first + static_cast<std::int64_t>(arrivals.size()) - 1, stage};
}

struct Reduced {
  Seconds end;  // all stages
  std::vector<Seconds> by_stage;
  std::vector<Seconds> last_arrival;
};

// Blocks until the gradients of all stages are reduced: the gradient norm needs them all.
Reduced join_buckets(Update& u, std::vector<Posted> const& last_operations) {
  Reduced r;
  r.by_stage.resize(u.ranks());
  r.last_arrival.resize(u.ranks());
  for (Posted const& p : last_operations) {
    u.run.collectives.join(p.communicator, p.operation);
    CollectiveRecord const& record = u.run.collectives.record(p.communicator, p.operation);
    r.by_stage[p.stage] = max(r.by_stage[p.stage], record.end);
    r.last_arrival[p.stage] = max(r.last_arrival[p.stage], record.last_arrival);
    r.end = max(r.end, record.end);
  }
  return r;
}

void record_reduction(Update& u, int replica, std::vector<Seconds> const& own_end, Reduced const& reduced) {
  auto const& by_stage = u.team.pool->placement.classes_of_stage[static_cast<std::size_t>(replica)];
  for (std::size_t s = 0; s < by_stage.size(); ++s) {
    Seconds const arrived = min(max(own_end[s], reduced.last_arrival[s]), reduced.by_stage[s]);
    for (int c : by_stage[s]) {
      u.recorder.span(c, Stream::compute, Activity::collective_wait, "waits for other replicas", own_end[s],
                      arrived);
      u.recorder.span(c, Stream::communication, Activity::communication, "gradient reduction", arrived,
                      max(arrived, reduced.by_stage[s]));
      u.recorder.span(c, Stream::compute, Activity::pipeline_bubble, "bubble",
                      max(own_end[s], reduced.by_stage[s]), reduced.end);
    }
  }
}

// Of the slowest rank; the others wait for it in the gradient norm.
Seconds host_gradients(Update const& u, int micro_batches) {
  Seconds slowest;
  for (std::size_t rank = 0; rank < u.ranks(); ++rank) {
    Seconds sum;
    for (std::size_t s = rank; s < u.team.stages.size(); s += u.ranks())
      sum += host_gradient_time(u.team.pool->profile, u.team.job, u.team.stages[s], micro_batches);
    slowest = max(slowest, sum);
  }
  return slowest;
}

void note_progress(Update const& u, int replica, std::size_t step, Seconds start) {
  Progress& p = *u.team.pool->progress;
  p.replicas.resize(static_cast<std::size_t>(u.team.replicas()), {0, p.start});
  p.replicas[static_cast<std::size_t>(replica)] = {step, start};
}

// One optimizer step of one replica that may start at `start` (which may lie before now: the parameters of
// the step before were still being gathered behind the first forward). Returns the start of the next.
Seconds optimizer_step(Update& u, int replica, std::size_t step, Seconds start) {
  ReplicaTimes const& mine = u.steps[step][static_cast<std::size_t>(replica)];
  bool const is_last = step + 1 == u.steps.size();
  RunState& run = u.run;
  Team& team = u.team;
  TrainerOptions const& train = u.train();
  note_progress(u, replica, step, start);
  if (replica == 0) watch_counts(run, u.team, u.steps[step], start);
  PipelineSchedule const schedule = schedule_of(team, mine, PassKind::training);
  record_schedule(u.recorder, team, replica, schedule, mine, start, false);

  std::vector<Seconds> own_end(u.ranks(), start);
  std::vector<Seconds> last_backward(u.ranks(), start);
  for (PipelineOp const& op : schedule.ops) {
    std::size_t const s = static_cast<std::size_t>(op.stage) % u.ranks();
    if (start + op.end > own_end[s]) {
      own_end[s] = start + op.end;
      last_backward[s] = start + op.start;
    }
  }
  std::vector<Posted> last_operations;
  for (Reduction const& r : u.reductions) {
    for (std::size_t s = 0; s < u.ranks(); ++s) {
      if (auto const last = post_buckets(u, r, replica, s, last_backward[s], own_end[s]))
        last_operations.push_back(*last);
    }
  }
  Reduced const reduced = join_buckets(u, last_operations);
  record_reduction(u, replica, own_end, reduced);

  Seconds const slowest = *std::max_element(u.optimizer.begin(), u.optimizer.end());
  auto const& by_stage = team.pool->placement.classes_of_stage[static_cast<std::size_t>(replica)];
  Seconds const copied = reduced.end + host_gradients(u, static_cast<int>(mine.times.size()));
  Seconds const updated = copied + slowest;
  for (std::size_t s = 0; s < by_stage.size(); ++s) {
    for (int c : by_stage[s]) {
      u.recorder.span(c, Stream::compute, Activity::copy, "gradients to host", reduced.end, copied);
      u.recorder.span(c, Stream::compute, Activity::compute, "optimizer", copied, copied + u.optimizer[s]);
      u.recorder.span(c, Stream::compute, Activity::collective_wait, "waits for other stages",
                      copied + u.optimizer[s], updated);
    }
  }
  if (!u.sharded()) {
    run.engine.delay(updated - run.engine.now());
    return updated;
  }
  Seconds gathered = updated;
  std::vector<Posted> gathers;
  for (Reduction const& r : u.reductions) {
    for (std::size_t s = 0; s < u.ranks(); ++s) {
      Arrival const arrival{updated, r.gather_prices[s]};
      gathers.push_back(
          {r.communicators[s], run.collectives.post(r.communicators[s], replica, {&arrival, 1}), s});
    }
  }
  for (Posted const& p : gathers) gathered = max(gathered, run.collectives.join(p.communicator, p.operation));
  Seconds const hidden = is_last || mine.times.empty() || !train.overlap_parameter_gather
                             ? Seconds(0)
                             : mine.times.front().front().forward;
  Seconds const next = max(updated, gathered - hidden);
  for (auto const& stage_classes : by_stage) {
    for (int c : stage_classes) {
      u.recorder.span(c, Stream::communication, Activity::communication, "parameter gather", updated, next);
    }
  }
  return next;
}

void train_replica(Update& u, int replica) {
  Seconds start = u.run.engine.now();
  for (std::size_t k = 0; k < u.steps.size(); ++k) {
    start = optimizer_step(u, replica, k, start);
    if (replica == 0) u.team.layer_collectives += collectives_of(u.team, u.steps[k].front(), true);
  }
  if (--u.replicas_left == 0) u.run.engine.wake(u.done);
}

void count_tokens(Update const& u, Batch& batch) {
  for (auto const& step : u.steps) {
    for (ReplicaTimes const& r : step) {
      batch.computed_tokens += r.computed_tokens;
      batch.useful_tokens += r.useful_tokens;
    }
  }
}

}  // namespace

void update(PhaseRun& p, Team& team) {
  auto const update = std::make_shared<Update>(Update{.run = p.run, .team = team, .recorder = p.recorder});
  for (RankLengths const& lengths : optimizer_steps(team, p.batch))
    update->steps.push_back(replica_times(team, lengths, PassKind::training));
  if (team.role == Role::actor) count_tokens(*update, p.batch);
  price_collectives(*update);
  update->replicas_left = team.replicas();
  for (int replica = 0; replica < team.replicas(); ++replica) {
    p.run.engine.spawn("trainer replica " + std::to_string(replica),
                       [update, replica] { train_replica(*update, replica); });
  }
  p.run.engine.wait(update->done);
}

Seconds update_time(Team& team, Batch& batch) {
  Seconds sum;
  for (RankLengths const& lengths : optimizer_steps(team, batch)) {
    Seconds slowest;
    for (ReplicaTimes const& r : replica_times(team, lengths, PassKind::training))
      slowest = max(slowest, schedule_of(team, r, PassKind::training).makespan);
    Seconds optimizer;
    for (Stage const& s : team.stages)
      optimizer = max(optimizer, optimizer_time(team.pool->profile, team.job, s));
    sum += slowest + optimizer;
  }
  return sum;
}

}  // namespace rollcast
