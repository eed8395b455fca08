#include "sim/engine.hpp"

#include <xbt/log.h>

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

#include "sim/engine_impl.hpp"

XBT_LOG_EXTERNAL_CATEGORY(ker_engine);

namespace rollcast {

using simgrid::kernel::timer::Timer;

namespace {

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
  argv.reserve(arguments.size() + 1);
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
    ++given_activities.timers;
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
  for (auto const& comm : std::exchange(to_cancel_, {})) {  // dropped while it runs, SimGrid crashes
    comm->cancel();
    cancelled_.push_back(comm);
  }
  for (auto const& a : actors_) {
    a->killed = true;
    if (a->started && !a->ended) a->actor->kill();
  }
}

Engine::Engine() : impl_(std::make_unique<Impl>(start_simgrid())) {}
Engine::~Engine() = default;

Seconds Engine::now() const { return Seconds(s4u::Engine::get_clock()); }

AlarmId Engine::at(Seconds time, std::function<void()> callback) {
  AlarmId const id{impl_->alarms_.add(time, std::move(callback))};
  impl_->arm(time);
  return id;
}

void Engine::cancel(AlarmId alarm) {
  if (impl_->alarms_.cancel(alarm.value)) impl_->arm_next_alarm();
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

EngineActivities engine_activities() { return given_activities; }

}  // namespace rollcast
