// The inside of Engine, for the engine files alone: SimGrid's objects and what we keep beside them.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <simgrid/kernel/Timer.hpp>
#include <simgrid/s4u.hpp>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/alarm_queue.hpp"
#include "sim/engine.hpp"
#include "sim/engine_activities.hpp"

namespace rollcast {

namespace s4u = simgrid::s4u;

// Of this process, as SimGrid's engine is.
inline EngineActivities given_activities;

// Everything that changes SimGrid's world (starting and cancelling flows, waking and killing actors) happens
// in one place, tick(), run by one timer at a time outside all actors. So simultaneous events have our order,
// not that of SimGrid's heaps (which order by address), and a wake-up cannot overtake a falling asleep.
class Engine::Impl {
 public:
  explicit Impl(s4u::Engine& simgrid);
  ~Impl() { living_ = nullptr; }

  struct Actor {
    std::string name;
    s4u::ActorPtr actor;
    bool asleep = false;
    bool woken = false;  // by a Wake or by the end of a flow, as opposed to a deadline
    bool killed = false;
    bool started = false;
    bool ended = false;
  };
  struct Flow {
    std::int64_t id = 0;
    std::string name;
    s4u::Host* source = nullptr;
    Bytes bytes;
    std::function<void()> done;
    s4u::CommPtr comm;  // set once it has started
    std::vector<ActorId> waiters;
  };

  Actor& actor(ActorId id);
  bool sleep_until(std::optional<Seconds> deadline, ActorId id);
  void make_ready(ActorId id);
  void arm(Seconds time);
  void arm_next_alarm();
  void tick();
  void do_what_is_due();
  void start(Flow& flow);
  void finish(std::int64_t id);
  void abandon_all();
  void release_ended();
  void run_body(ActorId id, std::function<void()> const& body);
  s4u::Host* make_source();
  void connect(s4u::Host* source, std::vector<LinkClassId> const& links);

  s4u::Engine& simgrid_;
  s4u::NetZone* zone_ = nullptr;
  s4u::Host* home_ = nullptr;  // of all actors
  s4u::Host* sink_ = nullptr;  // of all flows; a route is the way out of its source
  std::vector<s4u::Link*> links_;
  std::vector<s4u::Host*> sources_;  // of each route
  std::vector<s4u::Host*> spare_sources_;
  std::map<std::vector<LinkClassId>, RouteId> routes_;
  int spare_routes_ = 64;
  bool ran_ = false;

  std::vector<std::unique_ptr<Actor>> actors_;
  std::vector<ActorId> ended_;  // whose stacks are not given back yet
  int actors_left_ = 0;
  std::unordered_map<aid_t, ActorId> actor_of_;
  std::vector<ActorId> ready_;
  std::vector<ActorId> doomed_;

  AlarmQueue alarms_;

  std::map<std::int64_t, std::unique_ptr<Flow>> flows_;  // that are not done
  std::int64_t next_flow_ = 0;
  std::vector<std::int64_t> to_start_;
  std::vector<std::int64_t> finished_;
  std::vector<s4u::CommPtr> to_cancel_;
  std::vector<s4u::CommPtr> cancelled_;  // kept: SimGrid still refers to them when it cleans up

  simgrid::kernel::timer::Timer* timer_ = nullptr;
  double timer_date_ = 0;
  bool ticking_ = false;
  std::exception_ptr failure_;
  RunResult result_;

  static Impl* living_;  // for SimGrid's signals, which cannot be disconnected
};

}  // namespace rollcast
