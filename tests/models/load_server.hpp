// Who answers the loads that a fleet wants, in tests and benchmarks.
#pragma once

#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "models/rollout_fleet.hpp"

namespace rollcast {

// Answers each load of a fleet after load_time(engine, adapter, n-th load of it there), until all is done.
template <class LoadTime>
class LoadServer {
 public:
  LoadServer(RolloutFleet& fleet, LoadTime load_time) : fleet_(fleet), load_time_(load_time) {}

  std::vector<FleetCompletion> completions;
  std::vector<WantedLoad> wanted;

  // From event to event.
  void run() {
    while (go_to(due())) {
    }
  }

  // In slices, and now and then by the time of the next change; real() draws from [0, 1).
  template <class Real>
  void run_in_slices(Real real) {
    for (;;) {
      if (real() < 0.2) {
        answer();
        Seconds const next = fleet_.next_time();
        std::size_t const before = wanted.size();
        fleet_.take_loads(wanted);
        expect(before);
        if (Seconds const t = min(next, due()); t < kNever) {
          fleet_.advance_to(t, completions);
          answer();
        }
      }
      Seconds const limit = real() < 0.5 ? min(due(), fleet_.now() + seconds(20 * real())) : due();
      if (!go_to(limit)) return;
    }
  }

 private:
  static constexpr Seconds kNever{std::numeric_limits<double>::infinity()};

  Seconds due() const { return due_.empty() ? kNever : Seconds(due_.begin()->first); }
  bool go_to(Seconds limit) {
    std::size_t const before = wanted.size();
    if (fleet_.advance_to_event(limit, completions, wanted)) {
      expect(before);
      return true;
    }
    answer();
    return limit < kNever;
  }
  void expect(std::size_t from) {
    for (std::size_t i = from; i < wanted.size(); ++i) {
      WantedLoad const& w = wanted[i];
      int const n = loads_[{w.engine, w.adapter}]++;
      due_.emplace(w.time.value + load_time_(w.engine, w.adapter, n), std::pair(w.engine, w.adapter));
    }
  }
  void answer() {
    while (!due_.empty() && !(fleet_.now().value < due_.begin()->first)) {
      fleet_.adapter_loaded(due_.begin()->second.first, due_.begin()->second.second);
      due_.erase(due_.begin());
    }
  }

  RolloutFleet& fleet_;
  LoadTime load_time_;
  std::map<std::pair<int, int>, int> loads_;
  std::multimap<double, std::pair<int, int>> due_;
};

}  // namespace rollcast
