// The discrete-event engine: a clock, actors, alarms, and flows that share links max-min fairly. SimGrid does
// the work and stays behind this header (only the engine files include it).
//
// Set up: add links and routes, spawn actors, run() once. One Engine per process: SimGrid keeps its clock and
// its settings for as long as the process lives, so a second one throws std::logic_error.
//
// Inside run(), code runs either in an actor (the body given to spawn; it may block) or in a callback (alarm,
// end of a flow; it must not block). Actors run one at a time, so plain data needs no locks. Whatever happens
// at the same time happens in the order in which it was asked for.
//
// Accuracy: alarms and delays are exact to the last digits of the clock; a flow is rounded to whole bytes and
// ends up to 1e-9 s early (SimGrid's timing precision), so nothing shorter than 1 us should be a flow.
//
// Errors: std::logic_error for a broken contract (empty route, flow below one byte, blocking outside an
// actor, unknown id). An exception that leaves an actor or a callback ends the simulation and leaves run().
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "models/units.hpp"

namespace rollcast {

struct LinkClassId {
  std::int32_t value = -1;
  friend auto operator<=>(LinkClassId, LinkClassId) = default;
};
struct RouteId {
  std::int32_t value = -1;
  friend auto operator<=>(RouteId, RouteId) = default;
};
struct FlowId {
  std::int64_t value = -1;
  friend auto operator<=>(FlowId, FlowId) = default;
};
struct AlarmId {
  std::int64_t value = -1;
  friend auto operator<=>(AlarmId, AlarmId) = default;
};
struct ActorId {
  std::int32_t value = -1;
  friend auto operator<=>(ActorId, ActorId) = default;
};

// Something that actors sleep on until it is woken. A wake() that finds nobody asleep is kept, and the next
// wait returns at once; several are kept as one.
class Wake {
  friend class Engine;
  std::vector<ActorId> sleepers_;
  bool pending_ = false;
};

struct RunResult {
  Seconds finished_at;                 // of the last thing that happened
  std::vector<std::string> leftovers;  // what never finished: "actor trainer 3", "flow dp 0"; empty: clean
  bool deadlock = false;               // actors were left, and nothing was going to happen any more
};

class Engine {
 public:
  Engine();
  ~Engine();
  Engine(Engine const&) = delete;
  Engine& operator=(Engine const&) = delete;

  // ---- platform
  // One direction of a cable, a port or a bus, or a class of equal ones (link_classes.hpp). Before run().
  LinkClassId add_link(BytesPerSecond capacity);
  // The links a flow crosses, all at its full rate; order does not matter, repetition is an error. The same
  // set gives the same id. A flow costs the square of its links: about 64 are a good limit. Before run(), or
  // from an actor or callback while spare routes last.
  RouteId route(std::vector<LinkClassId> links);
  // How many new routes may still be made during run(). Default 64. Before run().
  void reserve_routes(int spare);
  // A slow or a recovered link; flows under way feel it at once.
  void set_capacity(LinkClassId link, BytesPerSecond capacity);

  // ---- actors
  // May be called before run() and during it; bodies start in the order of spawn. A stack has 256 KiB; at
  // most 30,000 actors at a time. A body must not swallow unknown exceptions: kill() unwinds it with one.
  ActorId spawn(std::string name, std::function<void()> body);
  // Unwinds the actor's stack (destructors run) and ends it, in this instant but after the caller blocks or
  // returns. Nothing for an actor that has ended; one that has not started never does.
  void kill(ActorId actor);

  Seconds now() const;

  // ---- blocking calls, only inside an actor
  void delay(Seconds duration);  // negative: zero
  // True when woken, false at the deadline. A deadline that has passed: false at once, unless woken before.
  bool wait_until(Seconds deadline, Wake& wake);
  void wait(Wake& wake);
  // Index of the first flow in `flows` that is done (finished or cancelled); at once when one already is.
  std::size_t wait_any(std::span<FlowId const> flows);

  // ---- anywhere
  void wake(Wake& wake);
  // Runs at `time`, or now when that has passed.
  AlarmId at(Seconds time, std::function<void()> callback);
  void cancel(AlarmId alarm);  // nothing when it has run

  // Starts now. done runs at the end, not when cancelled. At least half a byte (rounded to whole bytes).
  FlowId flow(RouteId route, Bytes bytes, std::string name = {}, std::function<void()> done = {});
  FlowId flow(std::vector<LinkClassId> links, Bytes bytes, std::string name = {});
  void cancel(FlowId flow);  // nothing when it is done
  bool is_done(FlowId flow) const;

  // Runs until nothing is left to happen. Once.
  RunResult run();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rollcast
