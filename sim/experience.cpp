#include "sim/experience.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "models/experience.hpp"
#include "sim/phases.hpp"

namespace rollcast {
namespace {

Team* team_of_forward(RunState const& run, Phase phase) {
  switch (phase) {
    case Phase::score:
      return run.find_team(Role::reward);
    case Phase::old_logprob:
      return run.find_team(Role::actor);
    case Phase::reference:
      return run.find_team(Role::reference);
    case Phase::values:
      return run.find_team(Role::critic);
    default:
      return nullptr;
  }
}

// The actor's pool works on whole steps where others take samples as they come.
bool runs_beside(RunState const& run, Team const& team) {
  int const pool = team.pool->index;
  if (pool == run.rollout->pool->index) return false;
  return run.job.framework.experience == Experience::batch || pool != run.team(Role::actor).pool->index;
}

// When each batch that an engine was given was there.
std::vector<Seconds> batch_ends(Batch const& batch, int feed) {
  std::map<int, std::vector<Seconds>> of_engine;
  for (std::size_t i = 0; i < batch.finished.size(); ++i)
    of_engine[batch.engine_of[i]].push_back(batch.finished[i]);
  std::vector<Seconds> ends;
  for (auto& [engine, times] : of_engine) {
    std::sort(times.begin(), times.end());
    std::size_t const size = feed > 0 ? static_cast<std::size_t>(feed) : 1;
    for (std::size_t first = 0; first < times.size(); first += size)
      ends.push_back(times[std::min(times.size(), first + size) - 1]);
  }
  return ends;
}

// What a pool has done before now, one phase after another from the time on when it was free.
class Meanwhile {
 public:
  Meanwhile(RunState& run, Batch& batch) : run_(run), batch_(batch) {}

  void add(Phase phase, Team& team, Seconds whole, Seconds left) {
    PoolState& pool = *team.pool;
    Seconds const from = drawn_.try_emplace(pool.index, pool.idle_since).first->second;
    Seconds const to = min(run_.engine.now(), from + max(Seconds(0), whole - left));
    double const share = to > from ? std::min(1.0, left / whole) : 1;
    PhaseRecorder const recorder{run_.recorder, batch_.step, phase};
    if (to > from) {
      record_forward(recorder, team, batch_, from, to, 1 - share);
      recorder.window(pool.index, from, to);
    }
    drawn_[pool.index] = to;
    pool.idle_since = to;
    batch_.rest[phase] = {left, share};
  }

 private:
  RunState& run_;
  Batch& batch_;
  std::map<int, Seconds> drawn_;
};

}  // namespace

void score_beside_generation(RunState& run, Batch& batch, Seconds start) {
  Experience const kind = run.job.framework.experience;
  if (kind == Experience::step || run.stopped) return;
  if (run.background) wait_for_background(run, run.background->pool);
  int const engines = run.rollout->engines();
  int const feed = run.job.rollout.feed;
  Seconds const now = run.engine.now();
  std::vector<Seconds> const ends = batch_ends(batch, feed);
  int const batches = std::max(1, static_cast<int>(ends.size()) / engines);
  std::map<int, std::pair<Seconds, Seconds>> streams;  // of a pool: when it was free, what it has to do
  Meanwhile meanwhile(run, batch);
  for (Phase phase : step_phases(run.job)) {
    Team* const team = team_of_forward(run, phase);
    if (team == nullptr || !runs_beside(run, *team)) continue;
    Seconds const whole = forward_time(*team, batch);
    if (kind == Experience::batch) {
      meanwhile.add(phase, *team, whole, batch_waits(whole, team->replicas(), engines, batches, now - start));
      continue;
    }
    auto& [free_at, work] =
        streams.try_emplace(team->pool->index, team->pool->idle_since, Seconds(0)).first->second;
    Seconds const before = max(Seconds(0), stream_end(ends, work, free_at) - now);
    work += whole;
    Seconds const after = max(Seconds(0), stream_end(ends, work, free_at) - now);
    meanwhile.add(phase, *team, whole, after - before);
  }
}

}  // namespace rollcast
