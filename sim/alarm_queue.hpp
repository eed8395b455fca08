// Callbacks by time: earliest first, those of the same time in the order in which they were added.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <unordered_map>

#include "models/units.hpp"

namespace rollcast {

class AlarmQueue {
 public:
  std::int64_t add(Seconds time, std::function<void()> callback);
  // Whether it was still waiting.
  bool cancel(std::int64_t alarm);
  void clear();

  std::optional<Seconds> next() const;  // of the earliest; none: empty
  // Takes out the earliest callback with time <= now; empty when there is none.
  std::function<void()> pop(Seconds now);

 private:
  struct Due {
    Seconds time;
    std::int64_t id;
    bool operator<(Due const& o) const { return time > o.time || (!(time < o.time) && id > o.id); }
  };
  void drop_cancelled();

  std::priority_queue<Due> due_;  // cancelled ones stay inside until they come up; never on top
  std::unordered_map<std::int64_t, std::function<void()>> callbacks_;
  std::int64_t next_id_ = 0;
};

}  // namespace rollcast
