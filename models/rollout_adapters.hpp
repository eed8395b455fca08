// What a rollout engine does for the adapters of its requests: which request it tries next, which adapters
// its memory gets, what its steps cost with them, and what all of that came to. The rules are in
// models/rollout_engine.hpp, which calls this one and is the only one that does.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "models/adapter_batch.hpp"
#include "models/adapter_plan.hpp"
#include "models/adapter_queue.hpp"
#include "models/adapter_use.hpp"
#include "models/kv_pages.hpp"
#include "models/resident_adapters.hpp"
#include "models/sequences.hpp"

namespace rollcast {

// From `time` on an engine waits for this adapter to come into its memory.
struct WantedLoad {
  int engine = 0;  // of a fleet
  int adapter = -1;
  Seconds time;
};

class RolloutAdapters {
 public:
  static constexpr int kNobody = AdapterQueue::kNobody;

  // std::logic_error: no adapter or no variant; merged without the time of each variant; as ResidentAdapters.
  explicit RolloutAdapters(std::shared_ptr<AdapterPlan const> plan);

  // std::logic_error: no such adapter, or one that could never be in memory beside so many KV pages of `all`.
  void check(int adapter, std::int64_t kv_pages, std::int64_t all) const;
  // The KV of a prompt is that of one adapter.
  std::int64_t group(std::int64_t group, int adapter) const;

  // ---- requests, by their place among the engine's sequences
  void add(int sequence, int adapter) { queue_.add(sequence, adapter); }
  void arrive(int sequence, Sequence const& s, Seconds at);
  void stop_running(int sequence);  // then it returns to the front, or ends
  void return_to_front(int sequence) { queue_.return_to_front(sequence); }
  void end(int sequence, bool waiting);
  void start_decoding(int sequence, std::int64_t context, std::int64_t step);
  void stop_decoding(int sequence, std::int64_t context, std::int64_t step);

  // ---- one boundary
  void begin_admission() {
    room_ = true;
    tried_ = kNobody;
  }
  // The next request to try, kNobody: none. `seats`: how many more may run. Wants loads on the way.
  int next(Seconds now, int seats, KvPages& kv);
  // Whether kv_pages and the room of its adapter can be had, evicting unused ones; then they can be taken.
  bool make_room(int sequence, std::int64_t kv_pages, KvPages& kv);
  void admit(int sequence, Seconds now, KvPages& kv);  // its KV pages are taken
  // Of the first waiting requests, the adapters; `waiting` is the first of the engine's queue.
  void prefetch(std::vector<Sequence> const& all, int waiting, Seconds now, KvPages& kv);
  // When the oldest waiting request will have waited so long that nobody passes it; infinite: it has, or
  // never.
  Seconds out_of_patience(Seconds now) const;
  // Evicts one adapter that nobody uses; false: there is none.
  bool evict_one(KvPages& kv);
  bool evict_for(std::int64_t kv_pages, KvPages& kv);  // until so many pages are available; false: never

  // ---- loads
  bool waits_for(int adapter) const {
    return adapter >= 0 && adapter < plan_->options.count && resident_.is_loading(adapter);
  }
  bool any_loading() const { return resident_.loading() > 0; }
  // A step that was admitted waits for adapters. When all are there it starts.
  bool step_waits() const { return blocking_ && resident_.loading() > 0; }
  void loaded(int adapter, Seconds at);
  Seconds all_there_at() const { return last_loaded_; }
  void take_loads(std::vector<WantedLoad>& out);

  // ---- steps
  void add_chunk(int sequence, std::int64_t tokens, double seconds) {
    batch_.add_chunk(queue_.adapter(sequence), tokens, seconds);
  }
  // As AdapterBatch::chunk_step, after the switch to another merged adapter where one is due.
  Seconds chunk_step(StepTable& prices, Seconds work, Seconds least, std::int64_t step, bool alone);
  double decode_step(StepTable& prices, double base) { return batch_.decode_step(prices, base); }
  bool is_split() const { return batch_.is_split(); }
  double attention(StepTable& prices, std::int64_t step, std::int64_t steps) {
    return batch_.attention(prices, step, steps);
  }
  void begin_steps(Seconds at);
  void pass_steps(std::int64_t n) { use_.distinct_steps += static_cast<double>(n * batch_.distinct()); }
  void end_steps(Seconds at) { step_end_ = at; }
  // What the decode steps since begin_steps took beyond the base model's.
  void decoding_took(double extra) { use_.kernel_time = kernel_time_before_ + Seconds(extra); }

  AdapterUse const& use() const { return use_; }

 private:
  static constexpr Seconds kNever{std::numeric_limits<double>::infinity()};

  bool is_moved(int adapter) const { return moves_ && adapter >= 0; }
  // Whether its place follows from what runs and what is in memory; else it is always as if in the batch.
  bool has_place(int adapter) const { return adapter >= 0 ? moves_ : merged_; }
  bool may_join(AdapterPlace p) const;
  bool is_overdue(int sequence, Seconds now) const {
    return !(now < queue_.arrival(sequence) + plan_->patience);
  }
  // Begins to load an adapter; there is room once the unused ones are evicted.
  void want(int adapter, Seconds now, KvPages& kv);
  void evict(int adapter, KvPages& kv);
  Seconds switch_time();

  std::shared_ptr<AdapterPlan const> plan_;
  bool moves_;  // adapters into memory
  bool merged_;
  bool blocking_;
  int limit_;  // of distinct adapters in the batch; 0: none
  AdapterQueue queue_;
  ResidentAdapters resident_;
  AdapterBatch batch_;
  bool room_ = true;                // at this boundary, for one more adapter
  int tried_ = kNobody;             // of this boundary, who could not be admitted
  int awaited_ = 0;                 // loads under way that a request waits for
  std::vector<bool> awaits_;        // of each adapter: its first admission is no hit
  std::vector<std::int64_t> near_;  // of each adapter: the last boundary at which prefetch saw it
  std::int64_t boundary_ = 0;
  int in_weights_ = -1;
  std::vector<WantedLoad> wanted_;
  Seconds loading_since_;
  Seconds last_loaded_;
  Seconds step_end_;
  Seconds kernel_time_before_;
  AdapterUse use_;
};

}  // namespace rollcast
