#include "sim/replica_run.hpp"

#include <algorithm>

#include "models/shard_exchange.hpp"

namespace rollcast {
namespace {

// Hand-over of the largest micro-batch between neighbouring stages.
Seconds transfer_time(Team const& team, std::vector<MicroBatch> const& micro_batches) {
  Parallel const& parallel = team.job.train.parallel;
  if (parallel.pp == 1) return Seconds(0);
  int const stride = team.job.cluster.gpus() / parallel.pp;
  int const nodes = nodes_of(team.job, {0, stride});
  Bytes largest;
  for (MicroBatch const& m : micro_batches) largest = max(largest, stage_transfer_bytes(team.job, m));
  Group const pair{.ranks = 2, .nodes = nodes, .sharing = nodes > 1 ? team.job.cluster.node.gpus : 1};
  return team.pool->pass_prices().at(CollectiveKind::send_recv, pair, largest).total();
}

// Each stage goes at the pace of its slowest rank.
void slow_down(ReplicaTimes& r, PoolState const& pool, Team const& team, int replica) {
  std::size_t const ranks = static_cast<std::size_t>(team.job.train.parallel.pp);
  for (std::size_t s = 0; s < team.stages.size(); ++s) {
    double slowest = 1;
    for (int c : pool.placement.classes_of_stage[static_cast<std::size_t>(replica)][s % ranks]) {
      for (int rank : pool.placement.classes[static_cast<std::size_t>(c - pool.first_class())].ranks)
        slowest = std::max(slowest, pool.slowdown[static_cast<std::size_t>(rank)]);
    }
    for (auto& stages : r.times) {
      StageTimes& t = stages[s];
      t.forward += (slowest - 1) * (t.forward - t.forward_communication);
      t.backward += (slowest - 1) * (t.backward - t.backward_communication);
    }
  }
}

Interleaving interleaving_of(Team const& team) {
  return {.ranks = team.job.train.parallel.pp, .chunks = team.job.train.virtual_stages};
}

// Ranks that gather layers together go through a micro-batch at the pace of the slowest.
void wait_for_slowest(Team const& team, std::vector<ReplicaTimes>& all) {
  std::size_t const replicas = all.size();
  int const shard = team.job.train.shard_ranks;
  std::size_t const group =
      shard > 0 ? std::min<std::size_t>(replicas, static_cast<std::size_t>(shard)) : replicas;
  for (std::size_t first = 0; first < replicas; first += group) {
    std::size_t const last = std::min(first + group, replicas);
    for (std::size_t m = 0;; ++m) {
      Seconds forward, backward;
      bool any = false;
      for (std::size_t r = first; r < last; ++r) {
        if (m >= all[r].times.size()) continue;
        any = true;
        forward = max(forward, all[r].times[m].front().forward);
        backward = max(backward, all[r].times[m].front().backward);
      }
      if (!any) break;
      for (std::size_t r = first; r < last; ++r) {
        if (m >= all[r].times.size()) continue;
        StageTimes& mine = all[r].times[m].front();
        StageTimes wait;
        wait.forward = forward - mine.forward;
        wait.backward = backward - mine.backward;
        all[r].waits.push_back(wait);
        mine.forward = forward;
        mine.backward = backward;
      }
    }
  }
}

}  // namespace

std::vector<ReplicaTimes> replica_times(Team const& team, RankLengths const& lengths, PassKind pass) {
  PoolState const& pool = *team.pool;
  std::vector<ReplicaTimes> all;
  for (auto const& micro_batches : make_rank_batches(team.job, lengths, pass)) {
    ReplicaTimes r;
    r.times.resize(micro_batches.size());
    for (Stage const& s : team.stages) {
      auto const of_stage = pass == PassKind::training
                                ? stage_times(pool.profile, pool.pass_prices(), team.job, s, micro_batches)
                                : logprob_times(pool.profile, pool.pass_prices(), team.job, s, micro_batches);
      for (std::size_t m = 0; m < r.times.size(); ++m) r.times[m].push_back(of_stage[m]);
    }
    if (!pool.slowdown.empty()) slow_down(r, pool, team, static_cast<int>(all.size()));
    r.transfer = transfer_time(team, micro_batches);
    for (MicroBatch const& m : micro_batches) {
      r.computed_tokens += m.tokens;
      r.useful_tokens += m.useful_tokens;
    }
    all.push_back(std::move(r));
  }
  if (is_fully_sharded(team.job.train) && team.stages.size() == 1) wait_for_slowest(team, all);
  return all;
}

PipelineSchedule schedule_of(Team const& team, ReplicaTimes const& r, PassKind pass) {
  Interleaving const i = interleaving_of(team);
  if (pass == PassKind::forward) {
    return i.chunks == 1 ? forward_pipeline(r.times, r.transfer)
                         : interleaved_forward_pipeline(r.times, i, r.transfer);
  }
  return i.chunks == 1 ? one_forward_one_backward(r.times, r.transfer)
                       : interleaved_one_forward_one_backward(r.times, i, r.transfer);
}

void record_schedule(PhaseRecorder const& recorder, Team const& team, int replica,
                     PipelineSchedule const& schedule, ReplicaTimes const& r, Seconds start,
                     bool bubble_after) {
  auto const& by_stage = team.pool->placement.classes_of_stage[static_cast<std::size_t>(replica)];
  std::vector<Seconds> free_at(by_stage.size(), start);
  for (PipelineOp const& op : schedule.ops) {
    auto const stage = static_cast<std::size_t>(op.stage);
    auto const micro_batch = static_cast<std::size_t>(op.micro_batch);
    std::size_t const rank = stage % by_stage.size();
    StageTimes const& t = r.times[micro_batch][stage];
    Seconds wait;
    if (!r.waits.empty()) wait = op.backward ? r.waits[micro_batch].backward : r.waits[micro_batch].forward;
    Seconds const begin = start + op.start;
    Seconds const end = start + op.end - wait;
    Seconds const exposed = op.backward ? t.backward_communication : t.forward_communication;
    char const* label = op.backward ? "backward" : "forward";
    for (int c : by_stage[rank]) {
      recorder.span(c, Stream::compute, Activity::pipeline_bubble, "bubble", free_at[rank], begin);
      recorder.span(c, Stream::compute, Activity::compute, label, begin, end - exposed,
                    op.backward ? t.backward_flops : t.forward_flops);
      recorder.span(c, Stream::communication, Activity::communication, "exposed collectives", end - exposed,
                    end);
      recorder.span(c, Stream::compute, Activity::collective_wait, "waits for slower ranks", end, end + wait);
    }
    free_at[rank] = end + wait;
  }
  if (!bubble_after) return;
  for (std::size_t rank = 0; rank < by_stage.size(); ++rank) {
    for (int c : by_stage[rank]) {
      recorder.span(c, Stream::compute, Activity::pipeline_bubble, "bubble", free_at[rank],
                    start + schedule.makespan);
    }
  }
}

}  // namespace rollcast
