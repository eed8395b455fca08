#include "sim/collectives.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace rollcast {
namespace {

bool equal(CollectivePrice const& a, CollectivePrice const& b) {
  auto const same = [](auto x, auto y) { return !(x < y) && !(y < x); };
  return same(a.alpha, b.alpha) && same(a.bytes_per_link, b.bytes_per_link) && same(a.bandwidth, b.bandwidth);
}

}  // namespace

Collectives::Collectives(Engine& engine) : engine_(engine) {}

Collectives::Communicator& Collectives::at(CommunicatorId id) {
  return communicators_.at(static_cast<std::size_t>(id.value));
}
Collectives::Communicator const& Collectives::at(CommunicatorId id) const {
  return communicators_.at(static_cast<std::size_t>(id.value));
}

CommunicatorId Collectives::add_communicator(CommunicatorSpec spec) {
  if (spec.members < 1) throw std::logic_error("a communicator without members: " + spec.name);
  auto const members = static_cast<std::size_t>(spec.members);
  CommunicatorId const id{static_cast<std::int32_t>(communicators_.size())};
  Communicator& c = communicators_.emplace_back();
  c.seconds_per_byte = seconds_per_stream_byte(spec.parts);
  c.spec = std::move(spec);
  c.next.resize(members, 0);
  c.latest.resize(members);
  return id;
}

std::int64_t Collectives::post(CommunicatorId communicator, int member, std::span<Arrival const> arrivals) {
  Communicator& c = at(communicator);
  auto const m = static_cast<std::size_t>(member);
  if (m >= c.next.size()) throw std::logic_error("no such member in " + c.spec.name);
  std::int64_t const first = c.next[m];
  for (Arrival const& a : arrivals) {
    if (c.next[m] > 0 && a.time < c.latest[m])
      throw std::logic_error("arrivals out of order in " + c.spec.name);
    auto const i = static_cast<std::size_t>(c.next[m]) - c.ended.size();
    if (i == c.pending.size()) {
      c.pending.emplace_back().price = a.price;
      c.pending.back().arrivals.resize(c.next.size());
    }
    Operation& o = c.pending[i];
    if (!equal(o.price, a.price))
      throw std::logic_error("members disagree on an operation of " + c.spec.name);
    o.arrivals[m] = a.time;
    ++o.posted;
    c.latest[m] = a.time;
    ++c.next[m];
  }
  schedule(communicator);
  watch(communicator);
  return first;
}

void Collectives::set_timeout(Seconds timeout, std::function<void(CommunicatorId)> late) {
  timeout_ = timeout;
  late_ = std::move(late);
}

// One alarm for the first operation that has not ended: later ones have been enqueued later.
void Collectives::watch(CommunicatorId id) {
  if (!timeout_) return;
  Communicator& c = at(id);
  std::optional<Seconds> first;
  if (!c.pending.empty()) {
    for (auto const& a : c.pending.front().arrivals) {
      if (a && (!first || *a < *first)) first = a;
    }
  }
  if (c.limit && first && !(c.limit_at < *first) && !(*first < c.limit_at)) return;
  if (c.limit) engine_.cancel(*c.limit);
  c.limit.reset();
  if (!first) return;
  c.limit_at = *first;
  c.limit = engine_.at(*first + *timeout_, [this, id] {
    at(id).limit.reset();
    late_(id);
  });
}

std::optional<Seconds> Collectives::pending_arrival(CommunicatorId communicator, int member) const {
  auto const& pending = at(communicator).pending;
  if (pending.empty()) return std::nullopt;
  return pending.front().arrivals.at(static_cast<std::size_t>(member));
}

std::int64_t Collectives::operations_done(CommunicatorId communicator) const {
  return static_cast<std::int64_t>(at(communicator).ended.size());
}

int Collectives::members(CommunicatorId communicator) const { return at(communicator).spec.members; }

// Sets the alarm for the first operation that has not ended, once its start is known.
void Collectives::schedule(CommunicatorId id) {
  Communicator& c = at(id);
  if (c.pending.empty()) return;
  Operation& o = c.pending.front();
  if (o.is_scheduled || o.posted < c.spec.members) return;
  o.is_scheduled = true;
  o.first = o.last = *o.arrivals.front();
  for (auto const& a : o.arrivals) {
    o.first = min(o.first, *a);
    o.last = max(o.last, *a);
  }
  // Never before now: posted late, or held up by the operation before.
  o.start = max(o.last, engine_.now());
  // One alarm for start and alpha together.
  o.alarm = engine_.at(o.start + o.price.alpha, [this, id] { send(id); });
}

void Collectives::send(CommunicatorId id) {
  Communicator& c = at(id);
  Operation& o = c.pending.front();
  if (o.price.bytes_per_link.value > 0 && !c.spec.parts.empty()) {
    Seconds const alone = o.price.bytes_per_link / o.price.bandwidth;
    Bytes const stream(alone.value / c.seconds_per_byte);
    for (FlowPart const& p : c.spec.parts) {
      if ((stream * p.share).value < 1) continue;
      ++o.flows_left;
      engine_.flow(p.route, stream * p.share, c.spec.name, [this, id] {
        if (--at(id).pending.front().flows_left == 0) end(id);
      });
    }
  }
  if (o.flows_left == 0) end(id);
}

void Collectives::end(CommunicatorId id) {
  Communicator& c = at(id);
  Operation const& o = c.pending.front();
  auto const number = static_cast<std::int64_t>(c.ended.size());
  records_.push_back({id, number, o.first, o.last, o.start, engine_.now()});
  c.ended.push_back(records_.size() - 1);
  engine_.wake(*o.ended);
  c.pending.pop_front();
  schedule(id);
  watch(id);
}

CollectiveRecord const& Collectives::record(CommunicatorId communicator, std::int64_t operation) const {
  return records_.at(at(communicator).ended.at(static_cast<std::size_t>(operation)));
}

Seconds Collectives::join(CommunicatorId communicator, std::int64_t operation) {
  auto const n = static_cast<std::size_t>(operation);
  if (operation < 0 || n >= at(communicator).ended.size() + at(communicator).pending.size())
    throw std::logic_error("nobody has posted the operation to join in " + name(communicator));
  if (n >= at(communicator).ended.size()) {
    // The operation may be gone before this actor runs again; its Wake must not be.
    auto const ended = at(communicator).pending[n - at(communicator).ended.size()].ended;
    engine_.wait(*ended);
  }
  return record(communicator, operation).end;
}

void Collectives::retract(CommunicatorId communicator, int member, Seconds time) {
  Communicator& c = at(communicator);
  auto const m = static_cast<std::size_t>(member);
  for (Operation& o : c.pending) {
    auto& arrival = o.arrivals.at(m);
    if (!arrival || *arrival <= time || (o.is_scheduled && o.start <= engine_.now())) continue;
    arrival.reset();
    --o.posted;
    if (std::exchange(o.is_scheduled, false)) engine_.cancel(o.alarm);
  }
}

std::vector<int> Collectives::missing_members(CommunicatorId communicator, std::int64_t operation) const {
  Communicator const& c = at(communicator);
  auto const n = static_cast<std::size_t>(operation);
  std::vector<int> out;
  if (n < c.ended.size()) return out;
  for (int m = 0; m < c.spec.members; ++m) {
    bool const is_known = n - c.ended.size() < c.pending.size();
    if (!is_known || !c.pending[n - c.ended.size()].arrivals[static_cast<std::size_t>(m)]) out.push_back(m);
  }
  return out;
}

std::string const& Collectives::name(CommunicatorId communicator) const { return at(communicator).spec.name; }

}  // namespace rollcast
