#include "sim/engine.hpp"

#include <xbt/log.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <map>
#include <optional>
#include <simgrid/Exception.hpp>
#include <simgrid/kernel/Timer.hpp>
#include <simgrid/s4u.hpp>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include "sim/alarm_queue.hpp"

XBT_LOG_EXTERNAL_CATEGORY(ker_engine);

namespace rollcast {
namespace {

namespace s4u = simgrid::s4u;
using simgrid::kernel::timer::Timer;

// A stack with its guard page is two mappings, and Linux allows 65,530 by default; SimGrid aborts there.
constexpr int kMaxActors = 30000;

s4u::Engine& start_simgrid() {
  static bool started = false;
  if (std::exchange(started, true)) throw std::logic_error("SimGrid allows one Engine per process");
  xbt_log_control_set("root.thresh:error");
  std::vector<std::string> arguments{"rollcast"};
#ifdef __SANITIZE_ADDRESS__
  // The sanitizer must know every stack, so each actor gets a thread of its own.
  arguments.push_back("--cfg=contexts/factory:thread");
#endif
  std::vector<char*> argv;
  for (std::string& a : arguments) argv.push_back(a.data());
  int count = static_cast<int>(argv.size());
  argv.push_back(nullptr);
  // SimGrid owns its engine until the process ends: actors that were never run are still known to it.
  static s4u::Engine engine(&count, argv.data());
  // A deadlock is a result here (RunResult), so SimGrid must not print its own report of it.
  xbt_log_threshold_set(&_XBT_LOGV(ker_engine), xbt_log_priority_infinite);
  // Flows get their max-min share and nothing else: no slow start, no cross traffic, no window limit.
  s4u::Engine::set_config("network/model:CM02");
  s4u::Engine::set_config("network/crosstraffic:0");
  s4u::Engine::set_config("network/TCP-gamma:1e18");
  s4u::Engine::set_config("contexts/stack-size:256");
  return engine;
}

}  // namespace

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

  Timer* timer_ = nullptr;
  double timer_date_ = 0;
  bool ticking_ = false;
  std::exception_ptr failure_;
  RunResult result_;

  static Impl* living_;  // for SimGrid's signals, which cannot be disconnected
};

Engine::Impl* Engine::Impl::living_ = nullptr;

Engine::Impl::Impl(s4u::Engine& simgrid) : simgrid_(simgrid) {
  living_ = this;
  zone_ = s4u::create_star_zone("cluster");
  home_ = zone_->create_host("home", 1.0);
  sink_ = zone_->create_host("sink", 1.0);
  zone_->add_route(sink_->get_netpoint(), nullptr, nullptr, nullptr, {}, true);
  s4u::Activity::on_completion_cb([](s4u::Activity const& activity) {
    auto const* flow = activity.get_data<Flow>();
    if (living_ == nullptr || flow == nullptr) return;
    living_->finished_.push_back(flow->id);
    living_->arm(Seconds(s4u::Engine::get_clock()));
  });
  s4u::Engine::on_deadlock_cb([] {
    if (living_ == nullptr) return;
    living_->result_.deadlock = true;
    for (auto const& a : living_->actors_) {
      if (!a->ended) living_->result_.leftovers.push_back("actor " + a->name);
    }
  });
}

// ---- actors

Engine::Impl::Actor& Engine::Impl::actor(ActorId id) {
  if (id.value < 0 || std::size_t(id.value) >= actors_.size()) throw std::logic_error("no such actor");
  return *actors_[std::size_t(id.value)];
}

void Engine::Impl::run_body(ActorId id, std::function<void()> const& body) {
  struct Ending {
    Impl& impl;
    ActorId id;
    ~Ending() {
      impl.actor(id).ended = true;
      impl.ended_.push_back(id);
      --impl.actors_left_;
    }
  } const ending{*this, id};
  actor_of_.emplace(s4u::this_actor::get_pid(), id);
  actor(id).started = true;
  if (actor(id).killed) return;
  try {
    body();
  } catch (simgrid::ForcefulKillException const&) {
    throw;  // SimGrid's way of unwinding a killed actor
  } catch (...) {
    if (!failure_) failure_ = std::current_exception();
    arm(Seconds(s4u::Engine::get_clock()));
  }
}

// Falls asleep until make_ready; true when woken, false at the deadline. The alarm goes with the frame, also
// when a kill unwinds it.
bool Engine::Impl::sleep_until(std::optional<Seconds> deadline, ActorId id) {
  struct Cleanup {
    Impl& impl;
    std::optional<std::int64_t> alarm;
    ~Cleanup() {
      if (alarm && impl.alarms_.cancel(*alarm)) impl.arm_next_alarm();
    }
  } cleanup{*this, std::nullopt};
  if (deadline) {
    cleanup.alarm = alarms_.add(*deadline, [this, id] { make_ready(id); });
    arm(*deadline);
  }
  Actor& me = actor(id);
  me.woken = false;
  me.asleep = true;
  s4u::this_actor::suspend();
  return me.woken;
}

void Engine::Impl::make_ready(ActorId id) {
  Actor& a = actor(id);
  if (!a.asleep || a.ended) return;
  a.asleep = false;
  ready_.push_back(id);
  arm(Seconds(s4u::Engine::get_clock()));
}

// SimGrid keeps the stack of an actor that we still point to. The caller is another actor, or none: by then
// those that ended have left their stacks.
void Engine::Impl::release_ended() {
  for (ActorId const id : std::exchange(ended_, {})) actor(id).actor = nullptr;
}

// ---- time

// Makes sure that tick() runs at `time` (or now, when that has passed).
void Engine::Impl::arm(Seconds time) {
  if (ticking_) return;  // it arms for what is left when it ends
  if (timer_ != nullptr) {
    if (timer_date_ <= time.value) return;
    timer_->remove();
  }
  timer_date_ = std::max(time.value, s4u::Engine::get_clock());
  timer_ = Timer::set(timer_date_, [this] {
    timer_ = nullptr;
    tick();
  });
}

// After an alarm was taken back: a timer of its own would keep the simulation running until then.
void Engine::Impl::arm_next_alarm() {
  if (ticking_) return;
  bool const work = !ready_.empty() || !doomed_.empty() || !to_start_.empty() || !finished_.empty() ||
                    !to_cancel_.empty() || failure_;
  if (work) return;  // the timer is set for now
  auto const next = alarms_.next();
  if (timer_ != nullptr && (!next || timer_date_ < next->value)) {
    timer_->remove();
    timer_ = nullptr;
  }
  if (next) arm(*next);
}

void Engine::Impl::tick() {
  ticking_ = true;
  try {
    if (!failure_) do_what_is_due();
  } catch (...) {
    failure_ = std::current_exception();
  }
  if (failure_) abandon_all();
  ticking_ = false;
  arm_next_alarm();
}

void Engine::Impl::do_what_is_due() {
  Seconds const now(s4u::Engine::get_clock());
  for (bool again = true; again;) {
    again = false;
    for (auto const& comm : std::exchange(to_cancel_, {})) {
      comm->cancel();
      cancelled_.push_back(comm);
    }
    if (!finished_.empty()) {
      again = true;
      auto ended = std::exchange(finished_, {});
      std::sort(ended.begin(), ended.end());
      for (std::int64_t const id : ended) finish(id);
    }
    for (std::int64_t const id : std::exchange(to_start_, {})) {
      if (auto const it = flows_.find(id); it != flows_.end()) start(*it->second);
    }
    while (auto const callback = alarms_.pop(now)) {
      again = true;
      callback();
    }
    again = again || !to_start_.empty() || !to_cancel_.empty();
  }
  for (ActorId const id : std::exchange(doomed_, {})) {
    if (actor(id).started && !actor(id).ended) actor(id).actor->kill();
  }
  for (ActorId const id : std::exchange(ready_, {})) {
    if (!actor(id).ended) actor(id).actor->resume();
  }
}

// An exception ends the simulation: what is left must not run on.
void Engine::Impl::abandon_all() {
  for (auto const& [id, flow] : std::exchange(flows_, {})) {
    if (flow->comm == nullptr) continue;
    flow->comm->set_data(nullptr);
    flow->comm->cancel();
    cancelled_.push_back(flow->comm);
  }
  alarms_.clear();
  ready_.clear();
  doomed_.clear();
  to_start_.clear();
  finished_.clear();
  to_cancel_.clear();
  for (auto const& a : actors_) {
    a->killed = true;
    if (a->started && !a->ended) a->actor->kill();
  }
}

// ---- flows

void Engine::Impl::start(Flow& flow) {
  flow.comm = s4u::Comm::sendto_init(flow.source, sink_);
  flow.comm->set_payload_size(static_cast<std::uint64_t>(std::llround(flow.bytes.value)));
  flow.comm->set_data(&flow);
  flow.comm->start();
}

void Engine::Impl::finish(std::int64_t id) {
  auto const node = flows_.extract(id);
  if (node.empty()) return;
  for (ActorId const w : node.mapped()->waiters) {
    actor(w).woken = true;
    make_ready(w);
  }
  if (node.mapped()->comm != nullptr) node.mapped()->comm->set_data(nullptr);
  if (node.mapped()->done) node.mapped()->done();
}

s4u::Host* Engine::Impl::make_source() {
  return zone_->create_host("source " + std::to_string(sources_.size() + spare_sources_.size()), 1.0);
}

void Engine::Impl::connect(s4u::Host* source, std::vector<LinkClassId> const& links) {
  std::vector<s4u::LinkInRoute> way;
  way.reserve(links.size());
  for (LinkClassId const l : links) way.emplace_back(links_.at(std::size_t(l.value)));
  zone_->add_route(source->get_netpoint(), nullptr, nullptr, nullptr, way, false);
}

// ---- the public face

Engine::Engine() : impl_(std::make_unique<Impl>(start_simgrid())) {}
Engine::~Engine() = default;

LinkClassId Engine::add_link(BytesPerSecond capacity) {
  if (!(capacity.value > 0)) throw std::logic_error("a link without capacity");
  if (impl_->ran_) throw std::logic_error("links are added before run()");
  auto const id = static_cast<std::int32_t>(impl_->links_.size());
  impl_->links_.push_back(impl_->zone_->create_link("link " + std::to_string(id), capacity.value));
  return {id};
}

RouteId Engine::route(std::vector<LinkClassId> links) {
  std::sort(links.begin(), links.end());
  if (links.empty()) throw std::logic_error("a route without links");
  if (std::adjacent_find(links.begin(), links.end()) != links.end())
    throw std::logic_error("a link twice in a route");
  if (links.front().value < 0 || std::size_t(links.back().value) >= impl_->links_.size())
    throw std::logic_error("no such link");
  auto const [it, is_new] = impl_->routes_.try_emplace(links);
  if (!is_new) return it->second;
  s4u::Host* source = nullptr;
  if (!impl_->ran_) {
    source = impl_->make_source();
  } else if (!impl_->spare_sources_.empty()) {
    source = impl_->spare_sources_.back();
    impl_->spare_sources_.pop_back();
  } else {
    impl_->routes_.erase(it);
    throw std::logic_error("no spare route left; reserve_routes() more before run()");
  }
  impl_->connect(source, links);
  it->second = RouteId{static_cast<std::int32_t>(impl_->sources_.size())};
  impl_->sources_.push_back(source);
  return it->second;
}

void Engine::reserve_routes(int spare) { impl_->spare_routes_ = spare; }

void Engine::set_capacity(LinkClassId link, BytesPerSecond capacity) {
  if (!(capacity.value > 0)) throw std::logic_error("a link without capacity");
  impl_->links_.at(std::size_t(link.value))->set_bandwidth(capacity.value);
}

ActorId Engine::spawn(std::string name, std::function<void()> body) {
  if (impl_->actors_left_ == kMaxActors) throw std::logic_error("too many actors; merge equal ranks");
  impl_->release_ended();
  ++impl_->actors_left_;
  ActorId const id{static_cast<std::int32_t>(impl_->actors_.size())};
  impl_->actors_.push_back(std::make_unique<Impl::Actor>());
  Impl::Actor& a = *impl_->actors_.back();
  a.name = std::move(name);
  a.actor = s4u::Actor::create(
      a.name, impl_->home_, [impl = impl_.get(), id, body = std::move(body)] { impl->run_body(id, body); });
  return id;
}

void Engine::kill(ActorId actor) {
  if (std::exchange(impl_->actor(actor).killed, true)) return;
  impl_->doomed_.push_back(actor);
  impl_->arm(now());
}

Seconds Engine::now() const { return Seconds(s4u::Engine::get_clock()); }

namespace {

// The SimGrid process that calls; a blocking call elsewhere would stop the simulation itself.
aid_t calling_process() {
  if (s4u::Actor::is_maestro()) throw std::logic_error("a blocking call outside an actor");
  return s4u::this_actor::get_pid();
}

}  // namespace

void Engine::delay(Seconds duration) {
  ActorId const me = impl_->actor_of_.at(calling_process());
  if (duration.value > 0) impl_->sleep_until(now() + duration, me);
}

bool Engine::wait_until(Seconds deadline, Wake& wake) {
  ActorId const me = impl_->actor_of_.at(calling_process());
  if (std::exchange(wake.pending_, false)) return true;
  if (deadline <= now()) return false;
  wake.sleepers_.push_back(me);
  struct Cleanup {
    std::vector<ActorId>& sleepers;
    ActorId me;
    ~Cleanup() { std::erase(sleepers, me); }
  } const cleanup{wake.sleepers_, me};
  return impl_->sleep_until(std::isfinite(deadline.value) ? std::optional(deadline) : std::nullopt, me);
}

void Engine::wait(Wake& wake) { wait_until(Seconds(HUGE_VAL), wake); }

std::size_t Engine::wait_any(std::span<FlowId const> flows) {
  ActorId const me = impl_->actor_of_.at(calling_process());
  auto const first_done = [&] {
    return std::size_t(std::find_if(flows.begin(), flows.end(), [&](FlowId f) { return is_done(f); }) -
                       flows.begin());
  };
  if (flows.empty()) throw std::logic_error("wait_any on no flows");
  if (auto const i = first_done(); i < flows.size()) return i;
  struct Cleanup {
    Impl& impl;
    std::span<FlowId const> flows;
    ActorId me;
    ~Cleanup() {
      for (FlowId const f : flows) {
        if (auto const it = impl.flows_.find(f.value); it != impl.flows_.end()) {
          std::erase(it->second->waiters, me);
        }
      }
    }
  } const cleanup{*impl_, flows, me};
  for (FlowId const f : flows) impl_->flows_.at(f.value)->waiters.push_back(me);
  impl_->sleep_until(std::nullopt, me);
  return first_done();
}

void Engine::wake(Wake& wake) {
  wake.pending_ = wake.sleepers_.empty();
  for (ActorId const id : std::exchange(wake.sleepers_, {})) {
    impl_->actor(id).woken = true;
    impl_->make_ready(id);
  }
}

AlarmId Engine::at(Seconds time, std::function<void()> callback) {
  AlarmId const id{impl_->alarms_.add(time, std::move(callback))};
  impl_->arm(time);
  return id;
}

void Engine::cancel(AlarmId alarm) {
  if (impl_->alarms_.cancel(alarm.value)) impl_->arm_next_alarm();
}

FlowId Engine::flow(RouteId route, Bytes bytes, std::string name, std::function<void()> done) {
  if (!(bytes.value >= 0.5)) throw std::logic_error("a flow below one byte: " + name);
  auto flow = std::make_unique<Impl::Flow>();
  flow->id = impl_->next_flow_++;
  flow->name = std::move(name);
  flow->source = impl_->sources_.at(std::size_t(route.value));
  flow->bytes = bytes;
  flow->done = std::move(done);
  FlowId const id{flow->id};
  impl_->to_start_.push_back(flow->id);
  impl_->flows_.emplace(flow->id, std::move(flow));
  impl_->arm(now());
  return id;
}

FlowId Engine::flow(std::vector<LinkClassId> links, Bytes bytes, std::string name) {
  return flow(route(std::move(links)), bytes, std::move(name));
}

void Engine::cancel(FlowId flow) {
  auto const it = impl_->flows_.find(flow.value);
  if (it == impl_->flows_.end()) return;
  if (it->second->comm != nullptr) {
    it->second->comm->set_data(nullptr);
    impl_->to_cancel_.push_back(it->second->comm);
  }
  it->second->done = nullptr;
  impl_->finish(flow.value);
  impl_->arm(now());
}

bool Engine::is_done(FlowId flow) const {
  if (flow.value < 0 || flow.value >= impl_->next_flow_) throw std::logic_error("no such flow");
  return !impl_->flows_.contains(flow.value);
}

RunResult Engine::run() {
  if (std::exchange(impl_->ran_, true)) throw std::logic_error("an Engine runs once");
  for (int i = 0; i < impl_->spare_routes_; ++i) impl_->spare_sources_.push_back(impl_->make_source());
  impl_->zone_->seal();
  impl_->simgrid_.run();
  if (impl_->failure_) std::rethrow_exception(impl_->failure_);
  RunResult& result = impl_->result_;
  result.finished_at = now();
  for (auto const& [id, flow] : impl_->flows_) result.leftovers.push_back("flow " + flow->name);
  return result;
}

}  // namespace rollcast
