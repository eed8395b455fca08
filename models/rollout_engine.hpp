// Continuous batching as a value: the caller submits requests and advances the clock; the engine goes from
// event to event (arrival, finish, preemption, prefill chunk, abort), never token by token.
//
// Scheduling is vLLM V1's: one token budget per step (max_num_batched_tokens), running sequences first in
// admission order, then waiting ones in order with chunked prefill, at most max_num_seqs running; KV in pages
// of block_size; when no page is free the last admitted sequence is preempted, loses its pages, goes to the
// front of the waiting queue and recomputes prompt + generated on return. With prefix caching the full prompt
// pages of one group are shared. Integers (order, pages, preemptions) are exact; times agree with a
// token-by-token reference to 1e-9. An outside event acts at the first step boundary at or after its time.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/job.hpp"
#include "models/step_prices.hpp"

namespace rollcast {

struct Request {
  std::int64_t id = 0;
  std::int64_t group = -1;  // requests of one group share their prompt; -1: none
  int prompt_tokens = 0;
  int response_tokens = 0;  // the length at which it will stop, at least 1
};

struct Completion {
  std::int64_t id = 0;
  Seconds time;
  int generated = 0;  // less than response_tokens only when aborted
  bool aborted = false;
};

// One point of the engine's curves, written at every event.
struct EnginePoint {
  Seconds time;
  int running = 0;
  int waiting = 0;
  std::int64_t used_blocks = 0;
};

struct EngineCounters {
  std::int64_t steps = 0;
  std::int64_t generated_tokens = 0;
  std::int64_t prefill_tokens = 0;  // computed, recomputation included
  std::int64_t cached_tokens = 0;   // found in the prefix cache
  std::int64_t preemptions = 0;
  std::int64_t price_evaluations = 0;  // reads of StepPrices
  std::int64_t events = 0;
  std::int64_t peak_blocks = 0;
  double decode_context_sum = 0;  // sum over steps of the total decode context: KV tokens read
  Seconds busy;                   // time inside steps
};

class RolloutEngine {
 public:
  // prices must outlive the engine. kv_blocks: pages available; a request that can never fit in them is an
  // std::logic_error at submit (the scenario checks refuse it before).
  RolloutEngine(EngineOptions const& options, std::int64_t kv_blocks, StepPrices const& prices);

  void submit(Request const& r, Seconds at);
  void submit(std::vector<Request> const& batch, Seconds at);

  // The time at which something will be handed over or change without outside help (the next completion);
  // nothing when idle or paused.
  std::optional<Seconds> next_event_time();
  // Runs to the first step boundary at or after t and appends what finished, in order of time.
  void advance_to(Seconds t, std::vector<Completion>& out);
  // Runs until nothing is left; returns the time of the last completion.
  Seconds run_to_end(std::vector<Completion>& out);

  bool abort(std::int64_t id, std::vector<Completion>& out);  // false: unknown or finished
  void abort_all(std::vector<Completion>& out);
  void pause(Seconds at);  // no step starts until resume; KV stays
  void resume(Seconds at);
  // Recompute everything in flight at the next step, as after a weight update that drops the KV cache.
  void drop_cache();

  Seconds now() const;
  EngineCounters const& counters() const;
  std::vector<EnginePoint> const& curve() const;

 private:
  // chosen by the implementation
};

}  // namespace rollcast
