// Random plans of adapters, and who answers the loads that a fleet wants.
#pragma once

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "models/rollout_fleet.hpp"
#include "tests/models/random_rollouts.hpp"

namespace rollcast {

inline AdapterPlan random_plan(Draw& d) {
  AdapterPlan p;
  ServedAdapters& o = p.options;
  o.count = d.whole(1, 8);
  o.variants.resize(static_cast<std::size_t>(d.whole(1, 3)));
  o.execution = static_cast<AdapterExecution>(d.whole(0, 4));
  o.pool = static_cast<AdapterPool>(d.whole(0, 1));
  o.eviction = static_cast<AdapterEviction>(d.whole(0, 1));
  o.loading = static_cast<AdapterLoading>(d.whole(0, 1));
  o.prefetch = d.often(0.5) ? 0 : d.whole(1, 5);
  o.batch_limit = d.often(0.5) ? 0 : d.whole(1, 4);
  p.order = static_cast<ServeOrder>(d.whole(0, 2));
  if (d.often(0.4)) p.patience = seconds(60 * d.real() * d.real());
  p.slots = d.whole(1, o.count);
  for (std::size_t v = 0; v < o.variants.size(); ++v) {
    p.merge.push_back(seconds(5 * d.real()));
    p.pages.push_back(d.whole(1, 5));
  }
  for (int n = d.whole(0, 3); n > 0; --n) {
    AdapterKernel k;
    k.layers = d.whole(1, 3);
    for (std::size_t v = 0; v < o.variants.size(); ++v) {
      double const rows = d.often(0.2) ? 0 : 0.01 * d.real();
      k.of_variant.push_back({rows, 0.1 * d.real(), 0.001 * d.real()});
    }
    p.kernels.plain.push_back(k);
    p.kernels.kernels.push_back(std::move(k));
  }
  p.kernels.launches = seconds(0.5 * d.real());
  return p;
}

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

  // In slices, and now and then by the time of the next change.
  void run_in_slices(Draw& d) {
    for (;;) {
      if (d.often(0.2)) {
        Seconds const next = fleet_.next_time();
        std::size_t const before = wanted.size();
        fleet_.take_loads(wanted);
        expect(before);
        if (Seconds const t = min(next, due()); t < kNever) {
          fleet_.advance_to(t, completions);
          answer();
        }
      }
      Seconds const limit = d.often(0.5) ? min(due(), fleet_.now() + seconds(20 * d.real())) : due();
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
