#include "models/rollout_fleet.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

namespace rollcast {
namespace {

constexpr Seconds kNever{std::numeric_limits<double>::infinity()};

int at_least_one(int engines) {
  if (engines < 1) throw std::logic_error("a rollout fleet needs an engine");
  return engines;
}

// Whether all outside events before (for a step that starts: up to) its time are known at t.
bool may_run(EngineChange const& c, Seconds t) {
  return c.starts_step ? c.time < t : c.time < kNever && !(t < c.time);
}

}  // namespace

RolloutFleet::RolloutFleet(FleetOptions const& fleet, EngineOptions const& options, std::int64_t kv_blocks,
                           StepPrices const& prices, Seconds least_prefill_step,
                           std::shared_ptr<AdapterPlan const> adapters)
    : balance_(fleet.balance),
      by_adapter_(fleet.by_adapter),
      feed_(fleet.feed),
      most_in_flight_(fleet.most_in_flight),
      engines_(static_cast<std::size_t>(at_least_one(fleet.engines)),
               RolloutEngine(options, kv_blocks, StepTable(prices), least_prefill_step, std::move(adapters))),
      next_(fleet.engines, {kNever, false}),
      load_(fleet.engines, 0),
      given_(engines_.size(), 0) {
  if (feed_ < 0 || most_in_flight_ < 0) throw std::logic_error("a limit of requests is not negative");
  if (limited()) queue_.resize(engines_.size());
}

// ---- requests

int RolloutFleet::submit(Request const& r, Seconds at) {
  int const e = choose(r, 0, 1);
  submit_to(e, r, at);
  return e;
}

void RolloutFleet::submit_to(int e, Request const& r, Seconds at) {
  check_not_past(at);
  enter(e, r, at);
  if (limited()) feed(e);
}

std::vector<int> RolloutFleet::submit(std::vector<Request> const& batch, Seconds at) {
  check_not_past(at);
  std::vector<int> chosen;
  chosen.reserve(batch.size());
  for (std::size_t i = 0; i < batch.size(); ++i) {
    int const e = choose(batch[i], i, batch.size());
    enter(e, batch[i], at);
    chosen.push_back(e);
  }
  for (int const e : chosen) {
    if (limited()) feed(e);
  }
  return chosen;
}

int RolloutFleet::choose(Request const& r, std::size_t i, std::size_t n) {
  std::size_t const engines = engines_.size();
  if (by_adapter_ && r.adapter >= 0) return r.adapter % this->engines();
  switch (balance_) {
    case EngineBalance::contiguous:
      // The last e with n e / E <= i, in whole numbers.
      return static_cast<int>((engines * (i + 1) - 1) / n);
    case EngineBalance::round_robin:
      turn_ = (turn_ + 1) % this->engines();
      return (turn_ + this->engines() - 1) % this->engines();
    case EngineBalance::least_load:
      return load_.winner();
    case EngineBalance::by_group:
      if (r.group < 0) return load_.winner();
      return engine_of_group_.try_emplace(r.group, load_.winner()).first->second;
  }
  throw std::logic_error("rollout fleet: balance");
}

void RolloutFleet::enter(int e, Request const& r, Seconds when) {
  if (limited()) {
    queue_[static_cast<std::size_t>(e)].push_back({r, when});
  } else {
    at(e).submit(r, when);
    next_.set(e, at(e).next_change());
  }
  load_.set(e, load_.key(e) + 1);
  ++in_flight_;
}

// An engine is fed at a boundary: its clock does not lag where requests have just ended.
void RolloutFleet::feed(int e) {
  auto& queue = queue_[static_cast<std::size_t>(e)];
  int& given = given_[static_cast<std::size_t>(e)];
  int const room = feed_ > 0 ? (given == 0 ? feed_ : 0) : most_in_flight_ - given;
  for (int i = 0; i < room && !queue.empty(); ++i) {
    at(e).submit(queue.front().request, max(queue.front().at, at(e).now()));
    queue.pop_front();
    ++given;
  }
  next_.set(e, at(e).next_change());
}

// ---- time

void RolloutFleet::check_not_past(Seconds at) const {
  if (at < now_ || (begun_ && !(now_ < at)))
    throw std::logic_error("a rollout fleet takes no outside event in the past");
}

Seconds RolloutFleet::next_time() {
  begun_ = true;
  for (;;) {
    int const e = next_.winner();
    if (now_ < next_.key(e).time) break;
    at(e).run_change(finished_);
    collect(e);
  }
  Seconds const change = next_.key(next_.winner()).time;
  return ready_.empty() ? change : min(change, ready_.front().what.completion.time);
}

void RolloutFleet::advance_to(Seconds t, std::vector<FleetCompletion>& out) {
  if (t < now_ || !(t < kNever)) throw std::logic_error("a rollout fleet advances to a time to come");
  run(t, Stop::at_time);
  come_to(t);
  hand_over(t, out);
}

bool RolloutFleet::advance_to_completion(Seconds limit, std::vector<FleetCompletion>& out) {
  if (limit < now_) throw std::logic_error("a rollout fleet advances to a time to come");
  run(limit, Stop::at_completion);
  bool const found = !ready_.empty() && !(limit < ready_.front().what.completion.time);
  if (found) {
    come_to(ready_.front().what.completion.time);
    hand_over(now_, out);
  } else if (limit < kNever) {
    come_to(limit);
  }
  return found;
}

Seconds RolloutFleet::run_to_end(std::vector<FleetCompletion>& out) {
  std::size_t const before = out.size();
  run(kNever, Stop::at_time);
  hand_over(kNever, out);
  if (out.size() > before) come_to(out.back().completion.time);
  return now_;
}

void RolloutFleet::come_to(Seconds t) {
  if (now_ < t) begun_ = false;
  now_ = t;
}

bool RolloutFleet::advance_to_event(Seconds limit, std::vector<FleetCompletion>& out,
                                    std::vector<WantedLoad>& loads) {
  if (limit < now_) throw std::logic_error("a rollout fleet advances to a time to come");
  run(limit, Stop::at_event);
  Seconds first = ready_.empty() ? kNever : ready_.front().what.completion.time;
  if (!wanted_.empty()) first = min(first, max(now_, wanted_.front().time));
  if (first < kNever && !(limit < first)) {
    come_to(first);
    hand_over(now_, out);
    std::size_t const before = loads.size();
    take_loads(loads);
    if (loads.size() > before) begun_ = true;
    return true;
  }
  if (limit < kNever) come_to(limit);
  return false;
}

void RolloutFleet::take_loads(std::vector<WantedLoad>& loads) {
  auto const end =
      std::find_if(wanted_.begin(), wanted_.end(), [&](WantedLoad const& l) { return now_ < l.time; });
  loads.insert(loads.end(), wanted_.begin(), end);
  wanted_.erase(wanted_.begin(), end);
}

void RolloutFleet::adapter_loaded(int e, int adapter) {
  at(e).adapter_loaded(adapter, now_);
  next_.set(e, at(e).next_change());
}

void RolloutFleet::run(Seconds t, Stop stop) {
  for (;;) {
    EngineChange const& next = next_.key(next_.winner());
    if (stop == Stop::at_event && !wanted_.empty()) {
      if (wanted_.front().time < next.time) return;  // what else starts at that time starts, too
    } else {
      bool const cut = stop != Stop::at_time && !ready_.empty();
      if (!may_run(next, cut ? min(t, ready_.front().what.completion.time) : t)) return;
    }
    int const e = next_.winner();
    at(e).run_change(finished_);
    collect(e);
  }
}

void RolloutFleet::collect(int e) {
  std::size_t const known = wanted_.size();
  at(e).take_loads(wanted_);
  for (std::size_t i = known; i < wanted_.size(); ++i) wanted_[i].engine = e;
  for (Completion const& c : finished_) {
    ready_.push_back({order_++, {e, c}});
    std::push_heap(ready_.begin(), ready_.end(), Later{});
  }
  if (limited() && !finished_.empty()) {
    given_[static_cast<std::size_t>(e)] -= static_cast<int>(finished_.size());
    feed(e);
  } else {
    next_.set(e, at(e).next_change());
  }
  finished_.clear();
}

void RolloutFleet::hand_over(Seconds t, std::vector<FleetCompletion>& out) {
  while (!ready_.empty() && !(t < ready_.front().what.completion.time)) {
    FleetCompletion const& c = ready_.front().what;
    load_.set(c.engine, load_.key(c.engine) - 1);
    --in_flight_;
    out.push_back(c);
    std::pop_heap(ready_.begin(), ready_.end(), Later{});
    ready_.pop_back();
  }
}

// ---- interruptions

void RolloutFleet::stand_at_boundary(int e) {
  if (at(e).waits_for_adapters())
    throw std::logic_error("a rollout fleet is not interrupted while a step waits for adapters");
  at(e).advance_to(now_, finished_);
  collect(e);
}

bool RolloutFleet::abort(int e, std::int64_t id, std::vector<FleetCompletion>& out) {
  check_not_past(now_);
  std::size_t const before = out.size();
  if (limited()) {
    auto& queue = queue_[static_cast<std::size_t>(e)];
    auto const it =
        std::find_if(queue.begin(), queue.end(), [&](Queued const& q) { return q.request.id == id; });
    if (it != queue.end()) {
      out.push_back({e, {id, now_, it->request.generated, true, {}}});
      queue.erase(it);
    }
  }
  if (out.size() == before) {
    stand_at_boundary(e);
    if (!at(e).abort(id, finished_)) return false;
    out.push_back({e, finished_.front()});
    finished_.clear();
    if (limited()) {
      --given_[static_cast<std::size_t>(e)];
      feed(e);
    } else {
      next_.set(e, at(e).next_change());
    }
  }
  load_.set(e, load_.key(e) - 1);
  --in_flight_;
  return true;
}

void RolloutFleet::abort_all(std::vector<FleetCompletion>& out) {
  check_not_past(now_);
  for (int e = 0; e < engines(); ++e) {
    std::deque<Queued> queued;
    if (limited()) queued.swap(queue_[static_cast<std::size_t>(e)]);
    stand_at_boundary(e);
    at(e).abort_all(finished_);
    collect(e);
    for (Queued const& q : queued) {
      ready_.push_back({order_++, {e, {q.request.id, now_, q.request.generated, true, {}}}});
      std::push_heap(ready_.begin(), ready_.end(), Later{});
    }
  }
  hand_over(kNever, out);
}

Seconds RolloutFleet::pause() {
  check_not_past(now_);
  Seconds last = now_;
  for (int e = 0; e < engines(); ++e) {
    stand_at_boundary(e);
    last = max(last, at(e).now());
    at(e).pause(now_);
    next_.set(e, at(e).next_change());
  }
  return last;
}

void RolloutFleet::resume() {
  check_not_past(now_);
  for (int e = 0; e < engines(); ++e) {
    at(e).resume(now_);
    next_.set(e, at(e).next_change());
  }
}

void RolloutFleet::drop_cache() {
  check_not_past(now_);
  for (int e = 0; e < engines(); ++e) {
    stand_at_boundary(e);
    at(e).drop_cache();
    next_.set(e, at(e).next_change());
  }
}

}  // namespace rollcast
