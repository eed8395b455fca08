#include "models/adapter_queue.hpp"

#include <algorithm>

namespace rollcast {

AdapterQueue::AdapterQueue(int adapters, ServeOrder order, AdapterPlace at_first)
    : order_(order),
      tenants_(static_cast<std::size_t>(adapters) + 1),
      lines_{Tournament<Rank>(adapters + 1, kNoRank), Tournament<Rank>(adapters + 1, kNoRank),
             Tournament<Rank>(adapters + 1, kNoRank)},
      arrived_(adapters + 1, kNone),
      served_(adapters + 1, kNone) {
  for (Tenant& t : tenants_) t.place = at_first;
}

void AdapterQueue::add(int sequence, int adapter) {
  if (entries_.size() <= static_cast<std::size_t>(sequence))
    entries_.resize(static_cast<std::size_t>(sequence) + 1);
  entry(sequence).adapter = adapter;
}

void AdapterQueue::arrive(int sequence, std::int64_t tokens_to_charge, Seconds at) {
  int const adapter = entry(sequence).adapter;
  std::int64_t const number = arrivals_++;
  Tenant& t = tenant(adapter);
  entry(sequence) = {adapter, t.tail, kNobody, false, tokens_to_charge, number, number, at};
  if (t.alive++ == 0 && order_ == ServeOrder::fair) {
    std::int64_t const least = served_.key(served_.winner());
    t.served = std::max(t.served, least == kNone ? last_served_ : least);
    served_.set(adapter + 1, t.served);
  }
  (t.tail == kNobody ? t.head : entry(t.tail).next) = sequence;
  t.tail = sequence;
  if (t.head == sequence) rank(adapter);
}

void AdapterQueue::admit(int sequence) {
  Entry& e = entry(sequence);
  if (!e.charged && order_ == ServeOrder::fair) {
    Tenant& t = tenant(e.adapter);
    t.served += e.charge;
    served_.set(e.adapter + 1, t.served);
  }
  e.charged = true;
  remove(sequence);
}

void AdapterQueue::return_to_front(int sequence) {
  Entry& e = entry(sequence);
  Tenant& t = tenant(e.adapter);
  e.order = --front_;
  e.previous = kNobody;
  e.next = t.head;
  (t.head == kNobody ? t.tail : entry(t.head).previous) = sequence;
  t.head = sequence;
  rank(e.adapter);
}

void AdapterQueue::end_running(int sequence) { leave(entry(sequence).adapter); }

void AdapterQueue::end_waiting(int sequence) {
  remove(sequence);
  leave(entry(sequence).adapter);
}

void AdapterQueue::remove(int sequence) {
  Entry const& e = entry(sequence);
  Tenant& t = tenant(e.adapter);
  (e.previous == kNobody ? t.head : entry(e.previous).next) = e.next;
  (e.next == kNobody ? t.tail : entry(e.next).previous) = e.previous;
  rank(e.adapter);
}

void AdapterQueue::leave(int adapter) {
  Tenant& t = tenant(adapter);
  if (--t.alive > 0) return;
  last_served_ = t.served;
  served_.set(adapter + 1, kNone);
}

void AdapterQueue::move(int adapter, AdapterPlace to) {
  Tenant& t = tenant(adapter);
  if (t.place == to) return;
  if (t.head != kNobody && t.place != AdapterPlace::loading) line(t.place).set(adapter + 1, kNoRank);
  t.place = to;
  if (t.head != kNobody) rank(adapter);
}

void AdapterQueue::rank(int adapter) {
  Tenant const& t = tenant(adapter);
  bool const waits = t.head != kNobody;
  arrived_.set(adapter + 1, waits ? entry(t.head).arrived : kNone);
  if (t.place == AdapterPlace::loading) return;
  std::int64_t const served = order_ == ServeOrder::fair ? t.served : 0;
  line(t.place).set(adapter + 1, waits ? Rank{served, entry(t.head).order} : kNoRank);
}

int AdapterQueue::next(bool resident, bool absent) const {
  std::array<bool, 3> const open{true, resident, absent};
  Rank best = kNoRank;
  std::int64_t least = kNone;
  int found = kNobody;
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    int const winner = lines_[i].winner();
    Rank const& r = lines_[i].key(winner);
    least = std::min(least, r.served);
    if (!open[i] || !(r < best)) continue;
    best = r;
    found = tenants_[static_cast<std::size_t>(winner)].head;
    if (order_ == ServeOrder::grouped) break;
  }
  bool const waits_for_others =
      order_ == ServeOrder::fair && found != kNobody && best.served - least > kMostAhead;
  return waits_for_others ? kNobody : found;
}

int AdapterQueue::oldest() const { return tenants_[static_cast<std::size_t>(arrived_.winner())].head; }

}  // namespace rollcast
