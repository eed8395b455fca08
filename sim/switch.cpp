// Colocated switching and weight sync as spans: host copies, fixed parts, gather, transfer and copy.
#include <vector>

#include "models/switching.hpp"
#include "models/weight_sync.hpp"
#include "sim/run_state.hpp"
#include "sim/sync_stall.hpp"

namespace rollcast {

void copy_to_and_from_host(PhaseRun& p, std::vector<std::vector<HostCopy>> const& of_class) {
  Seconds const start = p.run.engine.now();
  Seconds last = start;
  std::vector<Seconds> ends;
  for (int c = 0; c < p.pool.classes(); ++c) {
    Seconds at = start;
    for (HostCopy const& copy : of_class[static_cast<std::size_t>(c)]) {
      Seconds const end = at + shared_copy_time(p.pool.profile, p.pool.job.cluster.node, copy);
      char const* direction = copy.direction == Direction::host_to_device ? " from host" : " to host";
      p.recorder.span(p.pool.first_class() + c, Stream::copy, Activity::copy, copy.what + direction, at, end);
      at = end;
    }
    ends.push_back(at);
    last = max(last, at);
  }
  for (int c = 0; c < p.pool.classes(); ++c) {
    p.recorder.span(p.pool.first_class() + c, Stream::compute, Activity::phase_wait,
                    "waits for other ranks' copies", ends[static_cast<std::size_t>(c)], last);
  }
  p.run.engine.delay(last - start);
}

WeightSync weight_sync_of(RunState const& run) {
  PoolState& from = *run.team(Role::actor).pool;
  RolloutPool const& rollout = *run.rollout;
  if (rollout.pool == &from) return ipc_weight_sync(from.profile, *from.prices, from.job);
  bool const near = same_node(run.job, from.index, rollout.pool->index);
  return broadcast_weight_sync(from.profile, *from.prices, from.job, rollout.pool->job, near);
}

void record_weight_sync(PhaseRecorder const& recorder, PoolState const& pool, WeightSync const& sync,
                        Seconds start) {
  Seconds const gathered = start + sync.gather;
  Seconds const sent = gathered + sync.transfer;
  Seconds const copied = sent + sync.copy;
  for (int c = 0; c < pool.classes(); ++c) {
    int const number = pool.first_class() + c;
    recorder.span(number, Stream::communication, Activity::communication, "gather weights", start, gathered);
    recorder.span(number, Stream::communication, Activity::communication, "send weights to the engines",
                  gathered, sent);
    recorder.span(number, Stream::compute, Activity::compute, "write and read shared buffers", sent, copied,
                  {}, sync.weights * 2.0);
    recorder.span(number, Stream::host, Activity::overhead, "handles and loading of each tensor", copied,
                  copied + sync.per_tensor);
  }
}

void synchronise_weights(PhaseRun& p) {
  Seconds const start = p.run.engine.now();
  WeightSync const sync = weight_sync_of(p.run);
  if (auto const stall = stall_of_sync(p, sync)) return stop_deadlocked(p, *stall);
  record_weight_sync(p.recorder, p.pool, sync, start);
  PoolState& engines = *p.run.rollout->pool;
  if (&engines != &p.pool) {
    record_weight_sync(p.recorder, engines, sync, start);
    p.recorder.window(engines.index, start, start + sync.total());
    engines.idle_since = start + sync.total();
  }
  p.run.engine.delay(sync.total());
}

}  // namespace rollcast
