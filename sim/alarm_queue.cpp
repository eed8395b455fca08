#include "sim/alarm_queue.hpp"

#include <utility>

namespace rollcast {

std::int64_t AlarmQueue::add(Seconds time, std::function<void()> callback) {
  std::int64_t const id = next_id_++;
  due_.push({time, id});
  callbacks_.emplace(id, std::move(callback));
  return id;
}

bool AlarmQueue::cancel(std::int64_t alarm) {
  bool const waited = callbacks_.erase(alarm) != 0;
  drop_cancelled();
  return waited;
}

void AlarmQueue::clear() {
  due_ = {};
  callbacks_.clear();
}

std::optional<Seconds> AlarmQueue::next() const {
  if (due_.empty()) return std::nullopt;
  return due_.top().time;
}

std::function<void()> AlarmQueue::pop(Seconds now) {
  if (due_.empty() || due_.top().time > now) return {};
  std::function<void()> callback;
  if (auto const it = callbacks_.find(due_.top().id); it != callbacks_.end()) {
    callback.swap(it->second);
    callbacks_.erase(it);
  }
  due_.pop();
  drop_cancelled();
  return callback;
}

void AlarmQueue::drop_cancelled() {
  while (!due_.empty() && !callbacks_.contains(due_.top().id)) due_.pop();
}

}  // namespace rollcast
