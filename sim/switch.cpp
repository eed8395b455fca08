// Colocated switching and weight sync as spans: host copies, and each part of a weight sync.
#include <fmt/format.h>

#include <memory>
#include <stdexcept>
#include <vector>

#include "models/switching.hpp"
#include "models/weight_sync.hpp"
#include "sim/incident.hpp"
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

namespace {

WeightSync weight_sync_of(RunState const& run) {
  PoolState& from = *run.team(Role::actor).pool;
  PoolState& to = *run.rollout->pool;
  SyncDistance distance = SyncDistance::shared_gpus;
  if (&to != &from)
    distance = same_node(run.job, from.index, to.index) ? SyncDistance::one_node : SyncDistance::apart;
  return weight_sync({from.job, from.profile, *from.prices}, {to.job, to.profile, *to.prices}, distance);
}

struct Track {
  Stream stream;
  Activity activity;
};

Track track_of(SyncCause cause) {
  switch (cause) {
    case SyncCause::gather:
    case SyncCause::wire:
    case SyncCause::tcp:
      return {Stream::communication, Activity::communication};
    case SyncCause::to_host:
    case SyncCause::from_host:
      return {Stream::copy, Activity::copy};
    case SyncCause::copy:
      return {Stream::compute, Activity::compute};
    case SyncCause::setup:
    case SyncCause::per_tensor:
    case SyncCause::calls:
    case SyncCause::to_storage:
    case SyncCause::load:
    case SyncCause::caches:
      return {Stream::host, Activity::overhead};
  }
  throw std::logic_error("no such SyncCause");
}

// A span for each part, on every rank class: parts that run side by side overlap.
void record_weight_sync(PhaseRecorder const& recorder, PoolState const& pool, WeightSync const& sync,
                        Seconds start) {
  for (SyncStage const& stage : sync.stages) {
    for (SyncChain const& chain : stage) {
      Seconds at = start;
      for (SyncPart const& part : chain) {
        auto const [stream, activity] = track_of(part.cause);
        Bytes const hbm = part.cause == SyncCause::copy ? sync.weights * 2.0 : Bytes(0);
        for (int c = 0; c < pool.classes(); ++c) {
          recorder.span(pool.first_class() + c, stream, activity, name_of(part.cause), at, at + part.time, {},
                        hbm);
        }
        at += part.time;
      }
    }
    start += duration(stage);
  }
}

// Nobody can say when a broadcast ends whose network carries nothing; c10d's watchdog ends it, where it
// watches.
[[noreturn]] void stop_unsent(PhaseRun& p, Seconds start) {
  Stall stall;
  stall.at = start;
  stall.cause = fmt::format("the network does not carry the weights in weight_sync of {}{}",
                            step_name(p.batch.step), p.pool.damage.empty() ? "" : ": " + p.pool.damage);
  stall.groups = {{"weight sync", "BROADCAST", {}, GroupTimer::none, {}}};
  if (p.run.job.framework.sync_watchdog) stall.groups.front().timer = GroupTimer::c10d;
  stall.waiting.push_back({p.pool.index, 0, 0, start});
  PoolState& engines = *p.run.rollout->pool;
  for (int r = 0; r < engines.job.cluster.gpus(); ++r) stall.waiting.push_back({engines.index, r, 0, start});
  end_in_incident(p.run, stall);
}

// The weights go out as a flow beside what else is on the sender's NIC: the part on the wire takes so much
// longer. Blocks until they are out.
Seconds send(PhaseRun& p, SyncWire const& wire) {
  if (p.pool.sync_parts.empty() || !(wire.bytes.value > 0)) return Seconds(0);
  Engine& engine = p.run.engine;
  Seconds const start = engine.now();
  Seconds const alone = wire.bytes / wire.bandwidth;
  Bytes const stream(alone.value / seconds_per_stream_byte(p.pool.sync_parts));
  auto const left = std::make_shared<int>(0);
  auto const sent = std::make_shared<Wake>();
  std::vector<FlowId> flows;
  for (FlowPart const& part : p.pool.sync_parts) {
    if ((stream * part.share).value < 1) continue;
    ++*left;
    flows.push_back(engine.flow(part.route, stream * part.share, "weight sync", [&engine, left, sent] {
      if (--*left == 0) engine.wake(*sent);
    }));
  }
  if (flows.empty()) return Seconds(0);
  Seconds const limit = start + max(alone * 2.0, p.run.job.watchdog.timeout);
  if (!engine.wait_until(limit, *sent)) {
    for (FlowId f : flows) engine.cancel(f);
    stop_unsent(p, start);
  }
  return max(Seconds(0), engine.now() - start - alone);
}

void lengthen(WeightSync& sync, Seconds by) {
  for (SyncStage& stage : sync.stages) {
    for (SyncChain& chain : stage) {
      for (SyncPart& part : chain) {
        if (part.cause != SyncCause::wire) continue;
        part.time += by;
        return;
      }
    }
  }
}

}  // namespace

void synchronise_weights(PhaseRun& p) {
  Seconds const start = p.run.engine.now();
  PoolState& engines = *p.run.rollout->pool;
  std::optional<Progress> const before = engines.progress;  // of engines that go on behind the sync
  if (&engines != &p.pool) {
    if (!before) {
      for (int c = 0; c < engines.classes(); ++c)
        p.recorder.span(engines.first_class() + c, Stream::compute, Activity::phase_wait,
                        "waits for other pools", engines.idle_since, start);
    }
    engines.progress = Progress{p.phase, &p.batch, nullptr, start, {}};
  }
  WeightSync sync = weight_sync_of(p.run);
  if (auto const stall = stall_of_sync(p, sync)) stop_deadlocked(p, *stall);
  lengthen(sync, send(p, sync.wire));
  record_weight_sync(p.recorder, p.pool, sync, start);
  if (&engines != &p.pool) {
    record_weight_sync(p.recorder, engines, sync, start);
    p.recorder.window(engines.index, start, start + sync.total());
    engines.idle_since = start + sync.total();
  }
  p.run.engine.delay(start + sync.total() - p.run.engine.now());
  if (&engines != &p.pool) engines.progress = before;
}

}  // namespace rollcast
