// An update: optimizer steps of every replica with its gradient reduction, data-parallel collectives between
// replicas.
#include <algorithm>
#include <memory>

#include "models/host_optimizer.hpp"
#include "models/prices.hpp"
#include "sim/replica_run.hpp"
#include "sim/sample_shards.hpp"

namespace rollcast {
namespace {

// What all replicas of an update share. Actors run one at a time. Pipeline ranks hold one stage or several.
struct Update {
  RunState& run;
  Team& team;
  PhaseRecorder recorder;
  std::vector<std::vector<ReplicaTimes>> steps = {};      // [optimizer step][replica]
  std::vector<std::vector<GradientBucket>> buckets = {};  // of each pipeline rank
  std::vector<std::vector<CollectivePrice>> bucket_prices = {};
  std::vector<CollectivePrice> gather_prices = {};  // of each rank: parameters, used with a sharded optimizer
  std::vector<Seconds> optimizer = {};              // of each rank
  int replicas_left = 0;
  Wake done = {};

  TrainerOptions const& train() const { return team.job.train; }
  std::size_t ranks() const { return static_cast<std::size_t>(train().parallel.pp); }
  bool sharded() const { return train().distributed_optimizer || train().zero_stage >= 1; }
};

Group gradient_group(Job const& job, int stage) {
  auto const ranks = gradient_groups(job, stage).front();
  return {.ranks = static_cast<int>(ranks.size()), .nodes = nodes_of(job, ranks), .sharing = 1};
}

// Of all chunks of a pipeline rank, in the order in which they are ready: the first chunk's backward is last.
std::vector<GradientBucket> buckets_of_rank(Update const& u, std::size_t rank) {
  std::vector<GradientBucket> all;
  for (std::size_t s = u.team.stages.size() - u.ranks() + rank;; s -= u.ranks()) {
    auto of_stage = gradient_buckets(u.team.job, u.team.stages[s]);
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

void price_collectives(Update& u) {
  Job const& job = u.team.job;
  CollectivePrices& prices = *u.team.pool->prices;
  CollectiveKind const reduce = u.sharded() ? CollectiveKind::reduce_scatter : CollectiveKind::all_reduce;
  for (std::size_t rank = 0; rank < u.ranks(); ++rank) {
    Group const group = gradient_group(job, static_cast<int>(rank));
    std::vector<CollectivePrice> of_bucket;
    u.buckets.push_back(buckets_of_rank(u, rank));
    for (GradientBucket const& b : u.buckets.back()) of_bucket.push_back(prices.at(reduce, group, b.bytes));
    u.bucket_prices.push_back(std::move(of_bucket));
    double parameters = 0;
    Seconds optimizer;
    for (std::size_t s = rank; s < u.team.stages.size(); s += u.ranks()) {
      parameters += stage_parameters(job, u.team.stages[s]);
      optimizer += optimizer_time(u.team.pool->profile, job, u.team.stages[s]);
    }
    u.gather_prices.push_back(
        prices.at(CollectiveKind::all_gather, group, size_of(job.train.weights) * parameters));
    if (job.train.paged_optimizer) optimizer += paging(u, rank);
    u.optimizer.push_back(optimizer);
  }
}

// Posts the gradient buckets of one replica's stage; returns the number of the last operation.
std::int64_t post_buckets(Update& u, int replica, std::size_t stage, Seconds last_backward_start,
                          Seconds last_backward_end) {
  std::vector<Arrival> arrivals;
  auto const& buckets = u.buckets[stage];
  bool const overlap = u.train().overlap_gradient_reduce;
  Seconds const length = last_backward_end - last_backward_start;
  for (std::size_t b = 0; b < buckets.size(); ++b) {
    Seconds const ready = overlap ? last_backward_start + length * buckets[b].ready : last_backward_end;
    arrivals.push_back({ready, u.bucket_prices[stage][b]});
  }
  std::int64_t const first = u.run.collectives.post(u.team.gradients[stage], replica, arrivals);
  return first + static_cast<std::int64_t>(arrivals.size()) - 1;
}

struct Reduced {
  Seconds end;  // all stages
  std::vector<Seconds> by_stage;
  std::vector<Seconds> last_arrival;
};

// Blocks until the gradients of all stages are reduced: the gradient norm needs them all.
Reduced join_buckets(Update& u, std::vector<std::int64_t> const& last_operation) {
  Reduced r;
  for (std::size_t s = 0; s < last_operation.size(); ++s) {
    u.run.collectives.join(u.team.gradients[s], last_operation[s]);
    CollectiveRecord const& record = u.run.collectives.record(u.team.gradients[s], last_operation[s]);
    r.by_stage.push_back(record.end);
    r.last_arrival.push_back(record.last_arrival);
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

// One optimizer step of one replica that may start at `start` (which may lie before now: the parameters of
// the step before were still being gathered behind the first forward). Returns the start of the next.
Seconds optimizer_step(Update& u, int replica, ReplicaTimes const& mine, Seconds start, bool is_last) {
  RunState& run = u.run;
  Team const& team = u.team;
  TrainerOptions const& train = u.train();
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
  std::vector<std::int64_t> last_operation;
  for (std::size_t s = 0; s < u.ranks(); ++s) {
    last_operation.push_back(post_buckets(u, replica, s, last_backward[s], own_end[s]));
  }
  Reduced const reduced = join_buckets(u, last_operation);
  record_reduction(u, replica, own_end, reduced);

  Seconds const slowest = *std::max_element(u.optimizer.begin(), u.optimizer.end());
  auto const& by_stage = team.pool->placement.classes_of_stage[static_cast<std::size_t>(replica)];
  Seconds const updated = reduced.end + slowest;
  for (std::size_t s = 0; s < by_stage.size(); ++s) {
    for (int c : by_stage[s]) {
      u.recorder.span(c, Stream::compute, Activity::compute, "optimizer", reduced.end,
                      reduced.end + u.optimizer[s]);
      u.recorder.span(c, Stream::compute, Activity::collective_wait, "waits for other stages",
                      reduced.end + u.optimizer[s], updated);
    }
  }
  if (!u.sharded()) {
    run.engine.delay(updated - run.engine.now());
    return updated;
  }
  Seconds gathered = updated;
  std::vector<std::int64_t> gathers;
  for (std::size_t s = 0; s < u.ranks(); ++s) {
    Arrival const arrival{updated, u.gather_prices[s]};
    gathers.push_back(run.collectives.post(team.gradients[s], replica, {&arrival, 1}));
  }
  for (std::size_t s = 0; s < u.ranks(); ++s) {
    gathered = max(gathered, run.collectives.join(team.gradients[s], gathers[s]));
  }
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
    start = optimizer_step(u, replica, u.steps[k][static_cast<std::size_t>(replica)], start,
                           k + 1 == u.steps.size());
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

}  // namespace rollcast
