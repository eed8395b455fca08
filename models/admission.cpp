#include "models/admission.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <stdexcept>

namespace rollcast {
namespace {

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kGroupsPerEngine = 16;  // verl

}  // namespace

Admission::Admission(AdmissionOptions const& options) : options_(options) {
  if (options.batch < 1 || options.batches_per_update < 1 || options.engines < 1 ||
      options.max_concurrent < 0)
    throw std::logic_error("admission needs batches, updates and engines of at least one");
  double const bound = options.max_staleness;
  bool const any_share = options.rule == QueueRule::verl || options.rule == QueueRule::slime;
  if (!(bound >= 0) || !(any_share || std::floor(bound) >= bound))
    throw std::logic_error("admission: a bound of staleness that is not possible");
  if (options.rule == QueueRule::slime) options_.finish_before_update = true;
  // The product in the order in which verl multiplies.
  cap_ = static_cast<std::int64_t>(static_cast<double>(options.batch) * (bound + 1.0) *
                                   static_cast<double>(options.batches_per_update));
}

std::int64_t Admission::most_running() const {
  std::int64_t const given = options_.max_concurrent;
  switch (options_.rule) {
    case QueueRule::verl:
      return std::min(given > 0 ? given : kGroupsPerEngine * options_.engines, cap_);
    case QueueRule::areal:
      return given > 0 ? given : per_version();
    case QueueRule::slime:
      return given > 0 ? given : kNoLimit;
    case QueueRule::nemo_rl:
      return given > 0 ? given
                       : std::max<std::int64_t>(
                             1, static_cast<std::int64_t>(options_.max_staleness) * per_version());
  }
  throw std::logic_error("admission: rule");
}

// What the rule leaves open, however many run.
std::int64_t Admission::open_places() const {
  auto const ahead = static_cast<std::int64_t>(options_.max_staleness) + version_ + 1;
  switch (options_.rule) {
    case QueueRule::verl:
      return queued() >= cap_ ? 0 : cap_ - counted_;
    case QueueRule::areal:
      return ahead * per_version() - (started_ - rejected_);
    case QueueRule::slime:
      return (taken_batches_ + 1) * options_.batch - placed_ + static_cast<std::int64_t>(free_again_.size());
    case QueueRule::nemo_rl:
      return ahead * per_version() - placed_ + static_cast<std::int64_t>(free_again_.size());
  }
  throw std::logic_error("admission: rule");
}

std::int64_t Admission::may_start() const {
  if (update_wanted_ && options_.rule != QueueRule::slime) return 0;
  return std::max<std::int64_t>(0, std::min(open_places(), most_running() - running_));
}

Ticket Admission::start() {
  if (may_start() == 0) throw std::logic_error("admission: a group started that may not start");
  Ticket t{started_++, version_, -1};
  ++running_;
  ++counted_;
  if (!by_batch()) return t;
  if (free_again_.empty()) {
    t.batch = placed_++ / options_.batch;
  } else {
    std::pop_heap(free_again_.begin(), free_again_.end(), std::greater<>{});
    t.batch = free_again_.back();
    free_again_.pop_back();
  }
  return t;
}

void Admission::end(Ticket const& t) {
  if (running_ == 0 || t.number >= started_)
    throw std::logic_error("admission: a group ended that did not run");
  --running_;
}

void Admission::finish(Ticket const& t) {
  end(t);
  queue_.push_back(t);
  if (t.batch == taken_batches_) ++ready_of_next_;
}

void Admission::reject(Ticket const& t) {
  end(t);
  ++rejected_;
  --counted_;
  if (!by_batch()) return;
  free_again_.push_back(t.batch);
  std::push_heap(free_again_.begin(), free_again_.end(), std::greater<>{});
}

std::vector<Ticket> Admission::take() {
  auto const n = static_cast<std::size_t>(options_.batch);
  bool const there = by_batch() ? ready_of_next_ == options_.batch : queue_.size() >= n;
  if (update_is_due() || !there) return {};
  auto last = queue_.begin() + static_cast<std::ptrdiff_t>(std::min(n, queue_.size()));
  if (by_batch()) {
    last = std::stable_partition(queue_.begin(), queue_.end(),
                                 [&](Ticket const& t) { return t.batch == taken_batches_; });
  } else if (options_.rule == QueueRule::areal) {
    std::sort(queue_.begin(), queue_.end(),
              [](Ticket const& a, Ticket const& b) { return a.number < b.number; });
  }
  std::vector<Ticket> taken(queue_.begin(), last);
  queue_.erase(queue_.begin(), last);
  ++taken_batches_;
  ++taken_since_update_;
  ready_of_next_ =
      std::count_if(queue_.begin(), queue_.end(), [&](Ticket const& t) { return t.batch == taken_batches_; });
  return taken;
}

bool Admission::may_update() const {
  bool const all_started = options_.rule != QueueRule::slime || open_places() <= 0;
  return !options_.finish_before_update || (running_ == 0 && all_started);
}

void Admission::update() {
  if (!update_wanted_ || !may_update()) throw std::logic_error("admission: an update that is not allowed");
  ++version_;
  update_wanted_ = false;
  taken_since_update_ = 0;
  counted_ = running_ + queued();
}

std::int64_t Admission::staleness_bound() const {
  return options_.rule == QueueRule::slime ? 1 : static_cast<std::int64_t>(std::ceil(options_.max_staleness));
}

}  // namespace rollcast
