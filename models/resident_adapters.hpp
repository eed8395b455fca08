// Which adapters lie in the memory of a rollout engine.
//
// fixed: slots, each for any adapter. unified: pages of the KV cache, as many as the adapter's variant needs.
// An adapter is used while a running sequence has it. One that is on its way has its room already and stays.
// The others can be evicted, in this order: lru, the one unused for longest; popularity, the one of which the
// fewest requests have come, then as lru.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "models/adapter_plan.hpp"
#include "models/kv_pages.hpp"
#include "models/tournament.hpp"

namespace rollcast {

class ResidentAdapters {
 public:
  static constexpr int kNone = -1;

  // std::logic_error: a unified pool without the pages of each variant.
  explicit ResidentAdapters(AdapterPlan const& plan);

  bool is_there(int adapter) const { return at(adapter).state == State::there; }
  bool is_loading(int adapter) const { return at(adapter).state == State::loading; }
  int loading() const { return loading_; }
  // KV pages that it takes; 0 with fixed slots.
  std::int64_t pages(int adapter) const {
    return unified_ ? pages_[static_cast<std::size_t>(adapter) % pages_.size()] : 0;
  }
  // Whether its room could ever be had beside `kv_pages` of `all` pages.
  bool can_hold(int adapter, std::int64_t kv_pages, std::int64_t all) const {
    return unified_ ? pages(adapter) + kv_pages <= all : slots_ > 0;
  }
  // Whether a slot, or its pages, could be had now.
  bool has_room(int adapter, KvPages const& kv) const;
  // Pages of those that can be evicted, but of `kept` (kNone: of all).
  std::int64_t evictable_pages(int kept) const;
  // Whether loading this one evicts another.
  bool must_evict(int adapter, KvPages const& kv) const;
  int next_to_evict() const;  // kNone: all are used
  void evict(int adapter, KvPages& kv);

  // Begins to load; its room is free.
  void load(int adapter, KvPages& kv);
  void loaded(int adapter);
  // A sequence with it begins to run, or no longer runs.
  void use(int adapter);
  void leave(int adapter);
  // A request with it has come.
  void ask(int adapter);

  std::int64_t peak_resident() const { return peak_resident_; }
  std::int64_t peak_pages() const { return peak_pages_; }

 private:
  enum class State : std::uint8_t { absent, loading, there };
  struct Adapter {
    State state = State::absent;
    int users = 0;
    std::int64_t last_use = 0;
    std::int64_t asked = 0;
  };
  struct Turn {
    std::int64_t asked = std::numeric_limits<std::int64_t>::max();
    std::int64_t last_use = 0;
    bool operator<(Turn const& o) const { return asked != o.asked ? asked < o.asked : last_use < o.last_use; }
  };

  Adapter& at(int adapter) { return adapters_[static_cast<std::size_t>(adapter)]; }
  Adapter const& at(int adapter) const { return adapters_[static_cast<std::size_t>(adapter)]; }
  bool is_unused(Adapter const& a) const { return a.state == State::there && a.users == 0; }
  void release(int adapter);
  void set_turn(int adapter);

  bool unified_;
  bool popularity_;
  int slots_;
  std::vector<std::int64_t> pages_;  // by variant
  std::vector<Adapter> adapters_;
  Tournament<Turn> evictable_;
  std::int64_t unused_pages_ = 0;
  std::int64_t held_pages_ = 0;
  int resident_ = 0;  // on their way, too
  int loading_ = 0;
  std::int64_t uses_ = 0;
  std::int64_t peak_resident_ = 0;
  std::int64_t peak_pages_ = 0;
};

}  // namespace rollcast
