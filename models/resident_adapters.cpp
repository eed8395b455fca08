#include "models/resident_adapters.hpp"

#include <algorithm>
#include <stdexcept>

namespace rollcast {

ResidentAdapters::ResidentAdapters(AdapterPlan const& plan)
    : unified_(plan.options.pool == AdapterPool::unified),
      popularity_(plan.options.eviction == AdapterEviction::popularity),
      slots_(plan.slots),
      pages_(plan.pages),
      adapters_(static_cast<std::size_t>(plan.options.count)),
      evictable_(plan.options.count, Turn{}) {
  if (unified_ && pages_.size() != plan.options.variants.size())
    throw std::logic_error("a unified pool needs the KV pages of each variant of adapters");
}

bool ResidentAdapters::has_room(int adapter, KvPages const& kv) const {
  if (unified_) return pages(adapter) <= kv.available() + unused_pages_;
  return resident_ < slots_ || next_to_evict() != kNone;
}

std::int64_t ResidentAdapters::evictable_pages(int kept) const {
  return unused_pages_ - (kept != kNone && is_unused(at(kept)) ? pages(kept) : 0);
}

bool ResidentAdapters::must_evict(int adapter, KvPages const& kv) const {
  return unified_ ? pages(adapter) > kv.available() : resident_ == slots_;
}

int ResidentAdapters::next_to_evict() const {
  int const first = evictable_.winner();
  return is_unused(at(first)) ? first : kNone;
}

void ResidentAdapters::evict(int adapter, KvPages& kv) {
  at(adapter).state = State::absent;
  --resident_;
  unused_pages_ -= pages(adapter);
  held_pages_ -= pages(adapter);
  kv.give(pages(adapter));
  set_turn(adapter);
}

void ResidentAdapters::load(int adapter, KvPages& kv) {
  at(adapter).state = State::loading;
  ++loading_;
  ++resident_;
  held_pages_ += pages(adapter);
  kv.take(pages(adapter));
  peak_resident_ = std::max<std::int64_t>(peak_resident_, resident_);
  peak_pages_ = std::max(peak_pages_, held_pages_);
}

void ResidentAdapters::loaded(int adapter) {
  at(adapter).state = State::there;
  --loading_;
  if (at(adapter).users == 0) release(adapter);
}

void ResidentAdapters::use(int adapter) {
  Adapter& a = at(adapter);
  bool const was_unused = is_unused(a);
  ++a.users;
  if (!was_unused) return;
  unused_pages_ -= pages(adapter);
  set_turn(adapter);
}

void ResidentAdapters::leave(int adapter) {
  if (--at(adapter).users == 0 && is_there(adapter)) release(adapter);
}

void ResidentAdapters::ask(int adapter) {
  ++at(adapter).asked;
  if (popularity_ && is_unused(at(adapter))) set_turn(adapter);
}

void ResidentAdapters::release(int adapter) {
  at(adapter).last_use = ++uses_;
  unused_pages_ += pages(adapter);
  set_turn(adapter);
}

void ResidentAdapters::set_turn(int adapter) {
  Adapter const& a = at(adapter);
  evictable_.set(adapter, is_unused(a) ? Turn{popularity_ ? a.asked : 0, a.last_use} : Turn{});
}

}  // namespace rollcast
