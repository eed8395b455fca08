// All rollout engines of one pool as one value that a simulation drives in time: it submits requests, asks
// for completions in order of time over all engines, and interrupts all engines at a weight update.
//
// Exactness. Each engine does, to the last bit, what a RolloutEngine alone would do with the same outside
// events: an outside event at time t acts at the engine's first step boundary at or after t. No engine is
// copied or rolled back for that. Every engine stands at its next change (EngineChange): the end of a planned
// stretch of decode steps, or a boundary at which the next step starts. A tournament over the engines yields
// the earliest one; it is run only when all outside events that it depends on are known, so never past the
// fleet's time.
//
// Time. now() is the time up to which the fleet has been advanced; it only grows. Outside events act at
// now(), a submit also later. An event of the simulation that does not touch the fleet needs no call: the
// fleet may lag behind the simulation's clock and be advanced when something touches it. So a driver goes
//   from completion to completion (advance_to_completion), where a completion can cause a new submit, and
//   to the times of its own (advance_to), where it pauses, updates weights or takes samples,
// and its own clock needs no event for each completion. Between two outside events the cost is one tournament
// and one engine event for each of: a finish, a prefill step, its following stretch, a preemption.
//
// Completions are handed over in order of (time, engine, order within the engine: of admission), each once,
// in the call that advances to or beyond its time. A step that ends after t is not part of advance_to(t).
//
// Balance. Which engine a request goes to is decided by the call that submits it:
//   contiguous   request i of a batch of n: engine (E (i + 1) - 1) / n, in whole numbers
//   round_robin  in turn, over all calls
//   least_load   where the fewest requests are submitted and not handed over; of equals the lowest index
//   by_group     a group's first request, and one without a group, as least_load; the others of the group,
//                later ones too, to the same engine, where their prompt is cached
// With by_adapter those that have an adapter go by it instead.
//
// Adapters. An engine that wants one says so (WantedLoad); whoever carries it there tells by adapter_loaded.
// A driver with loads goes from event to event (advance_to_event). No engine may be interrupted (pause,
// abort, drop_cache) while a step of it waits for adapters: std::logic_error.
//
// An engine with a limit keeps what it may not have yet in a queue of its own, in order; a request leaves it
// at the boundary at which others end:
//   feed            so many at a time, the next ones when all of those have ended (a stack that calls the
//                   engine once per rollout micro-batch)
//   most_in_flight  so many at most, another as one ends (a client that bounds its concurrent requests)
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include "models/rollout_engine.hpp"
#include "models/tournament.hpp"

namespace rollcast {

struct FleetOptions {
  int engines = 1;
  EngineBalance balance = EngineBalance::contiguous;
  int feed = 0;             // 0: no limit
  int most_in_flight = 0;   // 0: no limit; unused with feed
  bool by_adapter = false;  // adapter i goes to engine i mod engines, whatever the balance
};

struct FleetCompletion {
  int engine = 0;
  Completion completion;
};

class RolloutFleet {
 public:
  // Engines alike, each with kv_blocks pages; they share the prices. std::logic_error: no engine, a negative
  // limit, and as RolloutEngine.
  RolloutFleet(FleetOptions const& fleet, EngineOptions const& options, std::int64_t kv_blocks,
               StepPrices const& prices, Seconds least_prefill_step = {},
               std::shared_ptr<AdapterPlan const> adapters = {});

  // Return the engine of each request. std::logic_error: at < now() (after next_time(): at <= now(), and any
  // other outside event), and as RolloutEngine::submit.
  int submit(Request const& r, Seconds at);
  void submit_to(int engine, Request const& r, Seconds at);
  std::vector<int> submit(std::vector<Request> const& batch, Seconds at);

  // For a driver that must name a time to come back at: the caller has no more outside events for now(), what
  // starts at now() starts, and the time of the next change is returned; infinite: nothing without outside
  // help. Later than now(), and nothing is handed over before it; perhaps nothing at it.
  Seconds next_time();
  // Appends what finishes up to and including t. std::logic_error: t < now(), or not finite.
  void advance_to(Seconds t, std::vector<FleetCompletion>& out);
  // Advances to the next completion, if it is at or before limit, and appends all of that time: true. Else
  // advances to limit (if that is finite): false.
  bool advance_to_completion(Seconds limit, std::vector<FleetCompletion>& out);
  // Advances to the next completion or wanted load, if it is at or before limit: true, and everything of that
  // time is appended. Else to limit (if that is finite): false. Completions of a time come first, in a call
  // of their own, so that they can cause submits; once a load is handed over, what starts at now() has
  // started, as after next_time(). What would start at limit does not start yet.
  bool advance_to_event(Seconds limit, std::vector<FleetCompletion>& out, std::vector<WantedLoad>& loads);
  // Appends the loads wanted up to now() and not handed over, in order of (time, engine): after next_time()
  // and after the other calls that advance.
  void take_loads(std::vector<WantedLoad>& loads);
  // An outside event at now(), also after next_time(): the adapter is in the engine's memory.
  // std::logic_error if that engine does not wait for it.
  void adapter_loaded(int engine, int adapter);
  // Until nothing is left that can run; now() is then the time of the last completion. Returns it.
  Seconds run_to_end(std::vector<FleetCompletion>& out);

  // Ends one request at its engine's first boundary at or after now(), and appends it with that time. false:
  // unknown there, or it has finished by then.
  bool abort(int engine, std::int64_t id, std::vector<FleetCompletion>& out);
  // Ends every request likewise and appends all, also what has finished by those boundaries.
  void abort_all(std::vector<FleetCompletion>& out);
  // No step starts after an engine's first boundary at or after now(), until resume(). Returns the last of
  // these boundaries: from then on the whole fleet stands still. KV stays.
  Seconds pause();
  void resume();
  // RolloutEngine::drop_cache at those boundaries: what is in flight recomputes its KV, shared prompts too.
  void drop_cache();

  Seconds now() const { return now_; }
  int engines() const { return static_cast<int>(engines_.size()); }
  RolloutEngine const& engine(int e) const { return engines_[static_cast<std::size_t>(e)]; }
  // Requests submitted and not handed over, waiting in a queue or not.
  std::int64_t in_flight() const { return in_flight_; }
  int in_flight(int e) const { return load_.key(e); }

 private:
  struct Sooner {
    bool operator()(EngineChange const& a, EngineChange const& b) const {
      if (a.time < b.time || b.time < a.time) return a.time < b.time;
      return !a.starts_step && b.starts_step;
    }
  };
  struct Ready {
    std::int64_t order = 0;
    FleetCompletion what;
  };
  struct Later {
    bool operator()(Ready const& a, Ready const& b) const {
      Seconds const x = a.what.completion.time;
      Seconds const y = b.what.completion.time;
      if (x < y || y < x) return y < x;
      return a.what.engine != b.what.engine ? a.what.engine > b.what.engine : a.order > b.order;
    }
  };
  struct Queued {
    Request request;
    Seconds at;
  };

  RolloutEngine& at(int e) { return engines_[static_cast<std::size_t>(e)]; }
  int choose(Request const& r, std::size_t i, std::size_t n);
  void enter(int e, Request const& r, Seconds at);
  void feed(int e);
  bool limited() const { return feed_ > 0 || most_in_flight_ > 0; }
  // Runs every change up to t of which all outside events are known, or up to the first completion, or to the
  // first wanted load.
  enum class Stop { at_time, at_completion, at_event };
  void run(Seconds t, Stop stop);
  void come_to(Seconds t);
  void check_not_past(Seconds at) const;
  void stand_at_boundary(int e);
  void collect(int e);
  void hand_over(Seconds t, std::vector<FleetCompletion>& out);

  EngineBalance balance_;
  bool by_adapter_;
  int feed_;
  int most_in_flight_;
  std::vector<RolloutEngine> engines_;
  Tournament<EngineChange, Sooner> next_;
  Tournament<int> load_;                   // submitted and not handed over
  std::vector<int> given_;                 // requests that the engine has
  std::vector<std::deque<Queued>> queue_;  // of engines with a limit
  std::unordered_map<std::int64_t, int> engine_of_group_;
  int turn_ = 0;
  Seconds now_;
  bool begun_ = false;  // what starts at now_ has started
  std::int64_t in_flight_ = 0;
  std::vector<Ready> ready_;  // a heap: finished, at or after now_
  std::int64_t order_ = 0;
  std::vector<Completion> finished_;  // of the engine that runs
  std::vector<WantedLoad> wanted_;    // loads, not handed over
};

}  // namespace rollcast
