#include "models/rollout_adapters.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "models/adapter_memory.hpp"

namespace rollcast {
namespace {

AdapterPlan const& checked(std::shared_ptr<AdapterPlan const> const& plan) {
  ServedAdapters const& o = plan->options;
  if (o.count < 1 || o.variants.empty())
    throw std::logic_error("a plan of adapters has an adapter and a variant");
  if (o.execution == AdapterExecution::merged && plan->merge.size() != o.variants.size())
    throw std::logic_error("merged execution needs the time to merge each variant");
  return *plan;
}

}  // namespace

RolloutAdapters::RolloutAdapters(std::shared_ptr<AdapterPlan const> plan)
    : plan_(std::move(plan)),
      moves_(moves_adapters(checked(plan_).options)),
      merged_(plan_->options.execution == AdapterExecution::merged),
      blocking_(plan_->options.loading == AdapterLoading::blocking),
      limit_(merged_  ? 1
             : moves_ ? plan_->options.batch_limit
                      : 0),
      queue_(plan_->options.count, plan_->order, moves_ ? AdapterPlace::absent : AdapterPlace::batch),
      resident_(*plan_),
      batch_(plan_),
      awaits_(static_cast<std::size_t>(plan_->options.count), false),
      near_(static_cast<std::size_t>(plan_->options.count), 0) {
  queue_.move(-1, merged_ ? AdapterPlace::resident : AdapterPlace::batch);
}

void RolloutAdapters::check(int adapter, std::int64_t kv_pages, std::int64_t all) const {
  if (adapter < -1 || adapter >= plan_->options.count)
    throw std::logic_error("a request has an adapter of the plan, or none");
  if (is_moved(adapter) && !resident_.can_hold(adapter, kv_pages, all))
    throw std::logic_error("a request's adapter does not fit in memory");
}

std::int64_t RolloutAdapters::group(std::int64_t group, int adapter) const {
  return group < 0 ? group : group * (plan_->options.count + 1) + adapter + 1;
}

// ---- requests

void RolloutAdapters::arrive(int sequence, Sequence const& s, Seconds at) {
  int const adapter = queue_.adapter(sequence);
  queue_.arrive(sequence, std::int64_t{s.prompt} + 2 * std::int64_t{s.response}, at);
  if (is_moved(adapter)) resident_.ask(adapter);
}

void RolloutAdapters::stop_running(int sequence) {
  int const a = queue_.adapter(sequence);
  batch_.leave(a);
  if (is_moved(a)) resident_.leave(a);
  if (has_place(a) && batch_.sequences(a) == 0) queue_.move(a, AdapterPlace::resident);
}

void RolloutAdapters::end(int sequence, bool waiting) {
  if (waiting) {
    queue_.end_waiting(sequence);
  } else {
    queue_.end_running(sequence);
  }
}

void RolloutAdapters::start_decoding(int sequence, std::int64_t context, std::int64_t step) {
  batch_.start(queue_.adapter(sequence), context, step);
}

void RolloutAdapters::stop_decoding(int sequence, std::int64_t context, std::int64_t step) {
  batch_.stop(queue_.adapter(sequence), context, step);
}

// ---- one boundary

bool RolloutAdapters::may_join(AdapterPlace p) const {
  int const members = merged_ ? batch_.parts() : batch_.distinct();
  switch (p) {
    case AdapterPlace::batch:
      return true;
    case AdapterPlace::resident:
      return limit_ == 0 || members < limit_;
    case AdapterPlace::absent:
      return room_ && (limit_ == 0 || members + awaited_ < limit_);
    case AdapterPlace::loading:
      return false;
  }
  throw std::logic_error("place of an adapter");
}

int RolloutAdapters::next(Seconds now, int seats, KvPages& kv) {
  bool const patient = plan_->patience > Seconds{};
  for (;;) {
    int i = patient ? queue_.oldest() : kNobody;
    if (i != kNobody && is_overdue(i, now)) {
      if (!may_join(queue_.place(queue_.adapter(i)))) return kNobody;
    } else {
      i = queue_.next(may_join(AdapterPlace::resident), may_join(AdapterPlace::absent));
      if (i == kNobody) return i;
    }
    int const a = queue_.adapter(i);
    if (queue_.place(a) != AdapterPlace::absent) return tried_ = i;
    if (!blocking_ && awaited_ >= seats) {
      room_ = false;
    } else if (!resident_.has_room(a, kv)) {
      if (resident_.pages(a) > 0) return kNobody;  // pages lack, as where those of a prompt do
      room_ = false;
    } else if (blocking_) {
      return tried_ = i;
    } else {
      want(a, now, kv);
      awaits_[static_cast<std::size_t>(a)] = true;
      ++awaited_;
    }
  }
}

bool RolloutAdapters::make_room(int sequence, std::int64_t kv_pages, KvPages& kv) {
  int const a = queue_.adapter(sequence);
  bool const absent = has_place(a) && queue_.place(a) == AdapterPlace::absent;
  std::int64_t const pages = kv_pages + (absent ? resident_.pages(a) : 0);
  if (pages > kv.available() + resident_.evictable_pages(a)) return false;
  if (is_moved(a)) resident_.use(a);
  return evict_for(pages, kv);
}

void RolloutAdapters::admit(int sequence, Seconds now, KvPages& kv) {
  int const a = queue_.adapter(sequence);
  bool const absent = has_place(a) && queue_.place(a) == AdapterPlace::absent;
  tried_ = kNobody;
  queue_.admit(sequence);
  batch_.join(a);
  if (absent) want(a, now, kv);
  if (has_place(a)) queue_.move(a, AdapterPlace::batch);
  if (!is_moved(a) || absent) return;
  if (!awaits_[static_cast<std::size_t>(a)]) ++use_.hits;
  awaits_[static_cast<std::size_t>(a)] = false;
}

void RolloutAdapters::prefetch(std::vector<Sequence> const& all, int waiting, Seconds now, KvPages& kv) {
  int const most = plan_->options.prefetch;
  if (blocking_ || !moves_ || most == 0) return;
  ++boundary_;
  auto const next = [&](int i) { return all[static_cast<std::size_t>(i)].next; };
  auto const keep = [&](int i) {
    if (int const a = queue_.adapter(i); a >= 0) near_[static_cast<std::size_t>(a)] = boundary_;
  };
  if (tried_ != kNobody) keep(tried_);
  int n = 0;
  for (int i = waiting; i >= 0 && n < most; i = next(i), ++n) keep(i);
  for (int i = waiting; n > 0; i = next(i), --n) {
    int const a = queue_.adapter(i);
    if (queue_.place(a) != AdapterPlace::absent) continue;
    if (!resident_.has_room(a, kv)) return;
    while (resident_.must_evict(a, kv)) {
      int const victim = resident_.next_to_evict();
      if (near_[static_cast<std::size_t>(victim)] == boundary_) return;
      evict(victim, kv);
    }
    want(a, now, kv);
  }
}

Seconds RolloutAdapters::out_of_patience(Seconds now) const {
  if (!(plan_->patience > Seconds{})) return kNever;
  int const i = queue_.oldest();
  return i == kNobody || is_overdue(i, now) ? kNever : queue_.arrival(i) + plan_->patience;
}

bool RolloutAdapters::evict_one(KvPages& kv) {
  int const victim = resident_.next_to_evict();
  if (victim == ResidentAdapters::kNone || resident_.pages(victim) == 0) return false;
  evict(victim, kv);
  return true;
}

bool RolloutAdapters::evict_for(std::int64_t kv_pages, KvPages& kv) {
  if (kv_pages > kv.available() + resident_.evictable_pages(ResidentAdapters::kNone)) return false;
  while (kv_pages > kv.available()) evict(resident_.next_to_evict(), kv);
  return true;
}

void RolloutAdapters::evict(int adapter, KvPages& kv) {
  resident_.evict(adapter, kv);
  queue_.move(adapter, AdapterPlace::absent);
  awaits_[static_cast<std::size_t>(adapter)] = false;
  ++use_.evictions;
}

// ---- loads

void RolloutAdapters::want(int adapter, Seconds now, KvPages& kv) {
  while (resident_.must_evict(adapter, kv)) evict(resident_.next_to_evict(), kv);
  if (!any_loading()) loading_since_ = now;
  resident_.load(adapter, kv);
  queue_.move(adapter, AdapterPlace::loading);
  wanted_.push_back({0, adapter, now});
  ++use_.loads;
  use_.peak_resident = resident_.peak_resident();
  use_.peak_pages = resident_.peak_pages();
}

void RolloutAdapters::loaded(int adapter, Seconds at) {
  if (!resident_.is_loading(adapter)) throw std::logic_error("rollout engine: an adapter came twice");
  resident_.loaded(adapter);
  if (awaits_[static_cast<std::size_t>(adapter)]) --awaited_;
  if (batch_.sequences(adapter) == 0) queue_.move(adapter, AdapterPlace::resident);
  last_loaded_ = max(last_loaded_, at);
  if (any_loading()) return;
  use_.load_time += last_loaded_ - loading_since_;
  use_.exposed += max(Seconds{}, last_loaded_ - max(loading_since_, step_end_));
}

void RolloutAdapters::take_loads(std::vector<WantedLoad>& out) {
  out.insert(out.end(), wanted_.begin(), wanted_.end());
  wanted_.clear();
}

// ---- steps

Seconds RolloutAdapters::chunk_step(StepTable& prices, Seconds work, Seconds least, std::int64_t step,
                                    bool alone) {
  if (alone) use_.distinct_steps += batch_.adapters_with_chunks();
  Seconds const cost(batch_.chunk_step(prices, work.value, least.value, step, alone));
  use_.kernel_time += cost - max(work, least);
  return cost + switch_time();
}

Seconds RolloutAdapters::switch_time() {
  Seconds time;
  if (!merged_ || batch_.any_adapter() == in_weights_) return time;
  for (int const a : {in_weights_, batch_.any_adapter()}) {
    if (a >= 0) time += plan_->merge[static_cast<std::size_t>(a) % plan_->merge.size()];
  }
  in_weights_ = batch_.any_adapter();
  ++use_.switches;
  use_.switch_time += time;
  return time;
}

void RolloutAdapters::begin_steps(Seconds at) {
  kernel_time_before_ = use_.kernel_time;
  if (any_loading()) use_.exposed += max(Seconds{}, at - max(loading_since_, step_end_));
}

}  // namespace rollcast
