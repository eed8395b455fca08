#include <algorithm>
#include <cmath>
#include <simgrid/Exception.hpp>
#include <stdexcept>
#include <utility>

#include "sim/engine_impl.hpp"

namespace rollcast {
namespace {

// A stack with its guard page is two mappings, and Linux allows 65,530 by default; SimGrid aborts there.
constexpr int kMaxActors = 30000;

// The SimGrid process that calls; a blocking call elsewhere would stop the simulation itself.
aid_t calling_process() {
  if (s4u::Actor::is_maestro()) throw std::logic_error("a blocking call outside an actor");
  return s4u::this_actor::get_pid();
}

}  // namespace

Engine::Impl::Actor& Engine::Impl::actor(ActorId id) {
  if (id.value < 0 || std::size_t(id.value) >= actors_.size()) throw std::logic_error("no such actor");
  return *actors_[std::size_t(id.value)];
}

void Engine::Impl::run_body(ActorId id, std::function<void()> const& body) {
  struct Ending {
    Impl& impl;
    Actor& actor;
    ActorId id;
    ~Ending() {
      actor.ended = true;
      impl.ended_.push_back(id);
      --impl.actors_left_;
    }
  } const ending{*this, actor(id), id};
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

// SimGrid keeps the stack of an actor that we still point to. The caller is another actor, or none: by then
// those that ended have left their stacks.
void Engine::Impl::release_ended() {
  for (ActorId const id : std::exchange(ended_, {})) actor(id).actor = nullptr;
}

void Engine::Impl::make_ready(ActorId id) {
  Actor& a = actor(id);
  if (!a.asleep || a.ended) return;
  a.asleep = false;
  ready_.push_back(id);
  arm(Seconds(s4u::Engine::get_clock()));
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

}  // namespace rollcast
