#include "models/rollout_engine.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "models/engine_versions.hpp"

namespace rollcast {
namespace {

constexpr Seconds kNever{std::numeric_limits<double>::infinity()};

}  // namespace

RolloutEngine::RolloutEngine(EngineOptions const& options, std::int64_t kv_blocks, StepPrices const& prices,
                             Seconds least_prefill_step, std::shared_ptr<AdapterPlan const> adapters)
    : RolloutEngine(options, kv_blocks, StepTable(prices), least_prefill_step, std::move(adapters)) {}

RolloutEngine::RolloutEngine(EngineOptions const& options, std::int64_t kv_blocks, StepTable const& prices,
                             Seconds least_prefill_step, std::shared_ptr<AdapterPlan const> adapters)
    : block_size_(options.block_size),
      max_running_(options.max_num_seqs),
      budget_(options.max_num_batched_tokens),
      chunked_(options.chunked_prefill),
      prompts_apart_(prompts_apart(options)),
      least_prefill_step_(least_prefill_step),
      prices_(prices),
      pages_(kv_blocks, options.block_size, options.prefix_caching),
      page_needs_(2 * static_cast<std::size_t>(options.block_size), 0) {
  if (max_running_ < 1 || budget_ < 1)
    throw std::logic_error("a rollout engine needs max_num_seqs and max_num_batched_tokens of at least 1");
  if (adapters) adapters_.emplace(std::move(adapters));
}

// ---- outside events

void RolloutEngine::submit(Request const& r, Seconds at) { announce({at, Act::arrive, add(r)}); }

void RolloutEngine::submit(std::vector<Request> const& batch, Seconds at) {
  sequences_.reserve(sequences_.size() + batch.size());
  announced_.reserve(announced_.size() + batch.size());
  for (Request const& r : batch) submit(r, at);
}

void RolloutEngine::pause(Seconds at) { announce({at, Act::pause, -1}); }

void RolloutEngine::resume(Seconds at) { announce({at, Act::resume, -1}); }

// A step that has begun does not see it: it acts a moment later, at the step's end.
void RolloutEngine::adapter_loaded(int adapter, Seconds at) {
  if (!adapters_ || !adapters_->waits_for(adapter))
    throw std::logic_error("rollout engine: an adapter that is not on its way");
  next_is_known_ = false;
  if (holds_step_) {
    adapters_->loaded(adapter, at);
  } else {
    bool const begun = stretch_.open && stretch_.done == 0;
    announce({begun ? max(at, Seconds(std::nextafter(now_.value, kNever.value))) : at, Act::loaded, adapter});
  }
}

void RolloutEngine::take_loads(std::vector<WantedLoad>& out) {
  if (adapters_) adapters_->take_loads(out);
}

AdapterUse const& RolloutEngine::adapter_use() const {
  static AdapterUse const none;
  return adapters_ ? adapters_->use() : none;
}

int RolloutEngine::add(Request const& r) {
  if (r.prompt_tokens < 1 || r.response_tokens < 1)
    throw std::logic_error("a request needs a prompt and a response of at least one token");
  if (r.generated < 0 || r.generated >= r.response_tokens)
    throw std::logic_error("a request that goes on has some of its response left");
  std::int64_t const longest = std::int64_t{r.prompt_tokens} + r.response_tokens - 1;
  if (pages_.pages(longest) > pages_.total())
    throw std::logic_error("a request needs more KV pages than there are");
  if (!chunked_ && longest > budget_)
    throw std::logic_error("without chunked prefill a request must fit in max_num_batched_tokens");
  if (adapters_) adapters_->check(r.adapter, pages_.pages(longest), pages_.total());
  int const group = pages_.join(adapters_ ? adapters_->group(r.group, r.adapter) : r.group, r.prompt_tokens);
  int i = static_cast<int>(sequences_.size());
  if (free_places_.empty()) {
    sequences_.emplace_back();
  } else {
    i = free_places_.back();
    free_places_.pop_back();
  }
  Sequence& s = at(i);
  s = Sequence{};
  s.id = r.id;
  s.prompt = r.prompt_tokens;
  s.response = r.response_tokens;
  s.generated = r.generated;
  s.group = group;
  if (adapters_) adapters_->add(i, r.adapter);
  s.place = Sequence::Place::announced;
  return i;
}

void RolloutEngine::announce(Announced a) {
  next_is_known_ = false;
  auto const first = announced_.begin() + static_cast<std::ptrdiff_t>(announced_done_);
  announced_.insert(std::upper_bound(first, announced_.end(), a,
                                     [](Announced const& x, Announced const& y) { return x.time < y.time; }),
                    a);
}

Seconds RolloutEngine::next_interruption() const {
  Seconds const outside = has_announced() ? announced_[announced_done_].time : kNever;
  return paused_ ? outside : min(outside, alarm_);
}

void RolloutEngine::act_due() {
  if (now_ < next_interruption()) return;
  disturb();
  if (!(now_ < alarm_)) alarm_ = kNever;
  for (; has_announced() && !(now_ < announced_[announced_done_].time); ++announced_done_) {
    Announced const& a = announced_[announced_done_];
    if (a.act == Act::arrive) {
      at(a.who).place = Sequence::Place::waiting;
      waiting_.push_back(sequences_, a.who);
      if (adapters_) adapters_->arrive(a.who, at(a.who), a.time);
    } else if (a.act == Act::loaded) {
      adapters_->loaded(a.who, a.time);
    } else {
      paused_ = a.act == Act::pause;
    }
  }
  if (!has_announced()) {
    announced_.clear();
    announced_done_ = 0;
  }
  mark();
}

// An outside event changes what the next step does: plans are void. But the first step of a stretch has its
// pages from the moment at which the stretch is open.
void RolloutEngine::disturb() {
  if (holds_step_ || (stretch_.open && stretch_.done == 0))
    throw std::logic_error("rollout engine: an outside event within a step that has begun");
  next_is_known_ = false;
  stretch_.open = false;
  blocked_ = false;
  ++counters_.events;
}

bool RolloutEngine::abort(std::int64_t id, std::vector<Completion>& out) {
  auto const found = std::find_if(sequences_.begin(), sequences_.end(), [&](Sequence const& s) {
    return s.id == id && s.place != Sequence::Place::nowhere;
  });
  if (found == sequences_.end()) return false;
  disturb();
  end(static_cast<int>(found - sequences_.begin()), true, out);
  mark();
  return true;
}

void RolloutEngine::abort_all(std::vector<Completion>& out) {
  disturb();
  while (running_.head() >= 0) end(running_.head(), true, out);
  while (waiting_.head() >= 0) end(waiting_.head(), true, out);
  std::vector<Announced> const announced(announced_.begin() + static_cast<std::ptrdiff_t>(announced_done_),
                                         announced_.end());
  for (Announced const& a : announced) {
    if (a.act == Act::arrive) end(a.who, true, out);
  }
  mark();
}

void RolloutEngine::drop_cache() {
  disturb();
  while (running_.tail() >= 0) return_to_waiting(running_.tail());
  pages_.drop_cache();
  mark();
}

void RolloutEngine::end(int i, bool aborted, std::vector<Completion>& out) {
  Sequence& s = at(i);
  if (adapters_ && s.place != Sequence::Place::announced)
    adapters_->end(i, s.place == Sequence::Place::waiting);
  if (s.place == Sequence::Place::waiting) {
    waiting_.remove(sequences_, i);
  } else if (s.place == Sequence::Place::announced) {
    announced_.erase(std::find_if(announced_.begin() + static_cast<std::ptrdiff_t>(announced_done_),
                                  announced_.end(),
                                  [&](Announced const& a) { return a.act == Act::arrive && a.who == i; }));
  } else {
    stop_running(i);
  }
  out.push_back({s.id, now_, s.generated, aborted, s.first_token});
  pages_.leave(s.group);
  s.place = Sequence::Place::nowhere;
  free_places_.push_back(i);
}

void RolloutEngine::mark() {
  EnginePoint const point{now_, running_.size(), waiting_.size(), pages_.used()};
  if (!curve_.empty() && !(curve_.back().time < now_)) {
    curve_.back() = point;
  } else {
    curve_.push_back(point);
  }
}

// ---- time

std::optional<Seconds> RolloutEngine::next_event_time() {
  if (next_is_known_ && (!next_ || now_ < *next_)) return next_;
  std::vector<EnginePoint> curve;
  curve.swap(curve_);  // the copy does without the past
  RolloutEngine ahead(*this);
  curve.swap(curve_);
  std::vector<Completion> found;
  ahead.drive(kNever, true, found);
  next_ = found.empty() ? std::nullopt : std::optional(found.front().time);
  next_is_known_ = true;
  return next_;
}

void RolloutEngine::advance_to(Seconds t, std::vector<Completion>& out) { drive(t, false, out); }

void RolloutEngine::advance_to_completion(std::vector<Completion>& out) { drive(kNever, true, out); }

Seconds RolloutEngine::run_to_end(std::vector<Completion>& out) {
  std::size_t const before = out.size();
  drive(kNever, false, out);
  return out.size() > before ? out.back().time : now_;
}

void RolloutEngine::drive(Seconds t, bool to_first_completion, std::vector<Completion>& out) {
  std::size_t const before = out.size();
  for (;;) {
    if (holds_step_) {
      if (adapters_->step_waits()) break;
      start_held_step(out);
    }
    act_due();
    if (!(now_ < t) || (to_first_completion && out.size() > before)) break;
    Seconds const limit = min(t, next_interruption());
    if (!can_run()) {
      if (!(limit < kNever)) break;
      now_ = limit;
    } else {
      if (!stretch_.open) start_event(out);
      if (stretch_.open) run_stretch(limit, out);
    }
  }
  counters_.price_evaluations = prices_.reads();
}

EngineChange RolloutEngine::next_change() const {
  if (holds_step_) return {adapters_->step_waits() ? kNever : adapters_->all_there_at(), false};
  Seconds const outside = next_interruption();
  if (stretch_.open && now_ < outside) return {min(stretch_.start + stretch_.cost, outside), false};
  if (can_run() || !(now_ < outside)) return {now_, true};
  return {outside, false};
}

void RolloutEngine::run_change(std::vector<Completion>& out) {
  next_is_known_ = false;
  Seconds const outside = next_interruption();
  if (holds_step_) {
    if (!adapters_->step_waits()) start_held_step(out);
  } else if (stretch_.open && now_ < outside) {
    run_stretch(outside, out);
  } else if (can_run() || !(now_ < outside)) {
    act_due();
    if (can_run()) start_event(out);
  } else if (outside < kNever) {
    now_ = outside;
    act_due();
  }
  counters_.price_evaluations = prices_.reads();
}

}  // namespace rollcast
