// Forward passes and updates of the trainer's models: one pipeline schedule per replica, data-parallel
// collectives between replicas.
#include <algorithm>
#include <memory>

#include "models/prices.hpp"
#include "sim/run_state.hpp"

namespace rollcast {
namespace {

std::vector<int> lengths_of(std::vector<Sample> const& share) {
  std::vector<int> lengths;
  lengths.reserve(share.size());
  for (Sample const& s : share) lengths.push_back(s.tokens());
  return lengths;
}

int pack_tokens(Job const& job) {
  if (job.train.pack_tokens > 0) return job.train.pack_tokens;
  return longest(job.workload.prompt_tokens) + longest(job.workload.response_tokens);
}

// Hand-over of the largest micro-batch between neighbouring stages.
Seconds transfer_time(Team const& team, std::vector<MicroBatch> const& micro_batches) {
  Parallel const& parallel = team.job.train.parallel;
  if (parallel.pp == 1) return Seconds(0);
  int const stride = team.job.cluster.gpus() / parallel.pp;
  int const nodes = nodes_of(team.job, {0, stride});
  Bytes largest;
  for (MicroBatch const& m : micro_batches) largest = max(largest, stage_transfer_bytes(team.job, m));
  Group const pair{.ranks = 2, .nodes = nodes, .sharing = nodes > 1 ? team.job.cluster.node.gpus : 1};
  return team.pool->prices->at(CollectiveKind::send_recv, pair, largest).total();
}

// Spans of one replica's schedule that starts at `start`: work, and bubbles between and after it up to
// `makespan` of the stage's own schedule.
void record_schedule(PhaseRecorder const& recorder, Team const& team, int replica,
                     PipelineSchedule const& schedule, std::vector<std::vector<StageTimes>> const& times,
                     Seconds start, bool bubble_after) {
  auto const& by_stage = team.pool->placement.classes_of_stage[static_cast<std::size_t>(replica)];
  std::vector<Seconds> free_at(by_stage.size(), start);
  for (PipelineOp const& op : schedule.ops) {
    auto const stage = static_cast<std::size_t>(op.stage);
    StageTimes const& t = times[static_cast<std::size_t>(op.micro_batch)][stage];
    Seconds const begin = start + op.start;
    Seconds const end = start + op.end;
    Seconds const exposed = op.backward ? t.backward_communication : t.forward_communication;
    char const* label = op.backward ? "backward" : "forward";
    for (int c : by_stage[stage]) {
      recorder.span(c, Stream::compute, Activity::pipeline_bubble, "bubble", free_at[stage], begin);
      recorder.span(c, Stream::compute, Activity::compute, label, begin, end - exposed,
                        op.backward ? t.backward_flops : t.forward_flops);
      recorder.span(c, Stream::communication, Activity::communication, "tensor-parallel collectives",
                        end - exposed, end);
    }
    free_at[stage] = end;
  }
  if (!bubble_after) return;
  for (std::size_t stage = 0; stage < by_stage.size(); ++stage) {
    for (int c : by_stage[stage]) {
      recorder.span(c, Stream::compute, Activity::pipeline_bubble, "bubble", free_at[stage],
                        start + schedule.makespan);
    }
  }
}

enum class Pass { training, log_probabilities };

// times[micro_batch][stage]
std::vector<std::vector<StageTimes>> times_of(Team const& team,
                                              std::vector<MicroBatch> const& micro_batches, Pass pass) {
  std::vector<std::vector<StageTimes>> times(micro_batches.size());
  PoolState const& pool = *team.pool;
  for (Stage const& s : team.stages) {
    auto const of_stage = pass == Pass::training
                              ? stage_times(pool.profile, *pool.prices, team.job, s, micro_batches)
                              : logprob_times(pool.profile, *pool.prices, team.job, s, micro_batches);
    for (std::size_t m = 0; m < times.size(); ++m) times[m].push_back(of_stage[m]);
  }
  return times;
}

// ---- update
// -------------------------------------------------------------------------------------------------- What all
// replicas of an update share. Actors run one at a time.
struct Update {
  RunState& run;
  Team& team;
  PhaseRecorder recorder;
  std::vector<std::vector<std::vector<Sample>>> shards = {};  // [optimizer step][replica]
  std::vector<std::vector<GradientBucket>> buckets = {};      // of each stage
  std::vector<std::vector<CollectivePrice>> bucket_prices = {};
  std::vector<CollectivePrice> gather_prices =
      {};                               // of each stage: parameters, used with a sharded optimizer
  std::vector<Seconds> optimizer = {};  // of each stage
  int replicas_left = 0;
  Wake done = {};

  TrainerOptions const& train() const { return team.job.train; }
  bool sharded() const { return train().distributed_optimizer || train().zero_stage >= 1; }
};

Group gradient_group(Job const& job, int stage) {
  auto const ranks = gradient_groups(job, stage).front();
  return {.ranks = static_cast<int>(ranks.size()), .nodes = nodes_of(job, ranks), .sharing = 1};
}

void price_collectives(Update& u) {
  Job const& job = u.team.job;
  CollectivePrices& prices = *u.team.pool->prices;
  CollectiveKind const reduce = u.sharded() ? CollectiveKind::reduce_scatter : CollectiveKind::all_reduce;
  for (std::size_t s = 0; s < u.team.stages.size(); ++s) {
    Stage const& stage = u.team.stages[s];
    Group const group = gradient_group(job, static_cast<int>(s));
    std::vector<CollectivePrice> of_bucket;
    u.buckets.push_back(gradient_buckets(job, stage));
    for (GradientBucket const& b : u.buckets.back()) of_bucket.push_back(prices.at(reduce, group, b.bytes));
    u.bucket_prices.push_back(std::move(of_bucket));
    u.gather_prices.push_back(prices.at(CollectiveKind::all_gather, group,
                                        size_of(job.train.weights) * stage_parameters(job, stage)));
    u.optimizer.push_back(optimizer_time(u.team.pool->profile, job, stage));
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
      u.recorder.span(c, Stream::compute, Activity::collective_wait, "waits for other replicas",
                          own_end[s], arrived);
      u.recorder.span(c, Stream::communication, Activity::communication, "gradient reduction", arrived,
                          max(arrived, reduced.by_stage[s]));
      u.recorder.span(c, Stream::compute, Activity::pipeline_bubble, "bubble",
                          max(own_end[s], reduced.by_stage[s]), reduced.end);
    }
  }
}

// One optimizer step of one replica that may start at `start` (which may lie before now: the parameters of
// the step before were still being gathered behind the first forward). Returns the start of the next.
Seconds optimizer_step(Update& u, int replica, std::vector<Sample> const& share, Seconds start,
                       bool is_last) {
  RunState& run = u.run;
  Team const& team = u.team;
  TrainerOptions const& train = u.train();
  auto const micro_batches =
      make_micro_batches(lengths_of(share), train, train.micro_batch, pack_tokens(team.job));
  auto const times = times_of(team, micro_batches, Pass::training);
  PipelineSchedule const schedule = one_forward_one_backward(times, transfer_time(team, micro_batches));
  record_schedule(u.recorder, team, replica, schedule, times, start, false);

  std::vector<Seconds> own_end(team.stages.size(), start);
  std::vector<Seconds> last_backward(team.stages.size(), start);
  for (PipelineOp const& op : schedule.ops) {
    auto const s = static_cast<std::size_t>(op.stage);
    if (start + op.end > own_end[s]) {
      own_end[s] = start + op.end;
      last_backward[s] = start + op.start;
    }
  }
  std::vector<std::int64_t> last_operation;
  for (std::size_t s = 0; s < team.stages.size(); ++s) {
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
  for (std::size_t s = 0; s < team.stages.size(); ++s) {
    Arrival const arrival{updated, u.gather_prices[s]};
    gathers.push_back(run.collectives.post(team.gradients[s], replica, {&arrival, 1}));
  }
  for (std::size_t s = 0; s < team.stages.size(); ++s) {
    gathered = max(gathered, run.collectives.join(team.gradients[s], gathers[s]));
  }
  Seconds const hidden =
      is_last || !train.overlap_parameter_gather ? Seconds(0) : times.front().front().forward;
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
  for (std::size_t k = 0; k < u.shards.size(); ++k) {
    start = optimizer_step(u, replica, u.shards[k][static_cast<std::size_t>(replica)], start,
                           k + 1 == u.shards.size());
  }
  if (--u.replicas_left == 0) u.run.engine.wake(u.done);
}

}  // namespace

std::vector<std::vector<Sample>> forward_shards(Team const& team, std::vector<Sample> const& samples) {
  return shard_for_training(samples, team.replicas(), team.job.train.packing);
}

void forward_pass(PhaseRun& p, Team& team) {
  Seconds const start = p.run.engine.now();
  Job const& job = team.job;
  auto const shards = forward_shards(team, p.batch.samples);
  std::vector<Seconds> ends;
  Seconds last = start;
  for (int replica = 0; replica < team.replicas(); ++replica) {
    auto const micro_batches = make_micro_batches(lengths_of(shards[static_cast<std::size_t>(replica)]),
                                                  job.train, job.train.logprob_micro_batch, pack_tokens(job));
    auto const times = times_of(team, micro_batches, Pass::log_probabilities);
    PipelineSchedule const schedule = forward_pipeline(times, transfer_time(team, micro_batches));
    record_schedule(p.recorder, team, replica, schedule, times, start, true);
    ends.push_back(start + schedule.makespan);
    last = max(last, ends.back());
  }
  for (RankClassInfo const& c : team.pool->placement.classes) {
    int const number = team.pool->first_class() + static_cast<int>(&c - team.pool->placement.classes.data());
    int const replica = team.pool->placement.place_of(number).replica;
    p.recorder.span(number, Stream::compute, Activity::phase_wait, "waits for other replicas",
                    ends[static_cast<std::size_t>(replica)], last);
  }
  p.run.engine.delay(last - start);
}

void update(PhaseRun& p, Team& team) {
  auto const update = std::make_shared<Update>(Update{.run = p.run, .team = team, .recorder = p.recorder});
  Algorithm const& a = team.job.algorithm;
  auto const& samples = p.batch.samples;
  int const per_step = a.train_batch * (a.kind == AlgorithmKind::dpo ? 2 : 1);  // dpo: pairs
  auto const total = static_cast<int>(samples.size());
  for (int epoch = 0; epoch < a.epochs; ++epoch) {
    for (int first = 0; first < total; first += per_step) {
      std::vector<Sample> batch(samples.begin() + first, samples.begin() + std::min(first + per_step, total));
      update->shards.push_back(shard_for_training(std::move(batch), team.replicas(), team.job.train.packing));
    }
  }
  price_collectives(*update);
  update->replicas_left = team.replicas();
  for (int replica = 0; replica < team.replicas(); ++replica) {
    p.run.engine.spawn("trainer replica " + std::to_string(replica),
                       [update, replica] { train_replica(*update, replica); });
  }
  p.run.engine.wait(update->done);
}

}  // namespace rollcast
