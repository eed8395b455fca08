// Continuous batching as a value: the caller submits requests and advances the clock; the engine goes from
// event to event (arrival, finish, preemption, prefill chunk, abort), never token by token.
//
// Scheduling is vLLM V1's: one token budget per step (max_num_batched_tokens), running sequences first in
// admission order, then waiting ones in order with chunked prefill, at most max_num_seqs running; KV in pages
// of block_size; when no page is free the last admitted sequence is preempted, loses its pages, goes to the
// front of the waiting queue and recomputes prompt + generated on return. With prefix caching the full prompt
// pages of one group are shared (models/kv_pages.hpp). Integers (order, pages, preemptions) are exact; times
// agree with a token-by-token reference to 1e-9.
//
// One step, in detail:
// - Each decoding sequence takes one token of the budget, and a page when its context begins one. A sequence
//   still in prefill (only the last admitted can be) then takes its next chunk. Who finds no page preempts
//   the last admitted, possibly itself, until the page is there.
// - Unless this step preempted, waiting sequences are admitted in order while budget, max_num_seqs and pages
//   allow; the first that does not fit ends it. Pages are taken for the chunk only. Without chunked prefill a
//   prompt that does not fit in the budget left waits.
// - The step that completes a prefill yields one token, and so does each decoding sequence. A sequence ends
//   with the step that yields its last token; the KV of that token is never written.
//
// Early releases of vLLM (prompts_apart in engine_versions.hpp) give prompts steps of their own, with the
// whole budget, before which decoding waits: while one can be admitted, nothing is decoded.
//
// A step with prompt tokens runs without CUDA graphs: it takes at least as long as its launches
// (least_prefill_step), whatever the GPU needs.
//
// Time: an outside event acts at the first step boundary at or after its time (while idle or paused, every
// moment is a boundary). Those with a time (submit, pause, resume) may be announced for later and act in
// order of time, then of call; the others act at now(). Where advance_to cuts the time changes no result, not
// even the last bit. Completions of one boundary come in admission order.
//
// Adapters. With an AdapterPlan each request has an adapter, or the base model alone (-1); without one it is
// as above, to the last bit. What is new in a step:
// - The order of who waits is that of models/adapter_queue.hpp. Passed over is whose adapter cannot join:
//   the batch would have more than batch_limit; every slot holds one that is used or on its way; it is on
//   its way itself. Want of KV pages, budget or seats ends admission as ever; so does want of an adapter's
//   pages (unified pool). Merged, the batch has one adapter, or none, which counts as one.
// - Patience: once the first to have arrived of those that wait has waited so long, nobody else is tried.
//   That moment acts as an outside event does.
// - Pages are taken from those empty, those only cached, unused adapters (unified pool, in the order of
//   models/resident_adapters.hpp); only then is a sequence preempted.
// - Loading, blocking: a step that admits requests whose adapters are absent wants their loads and starts
//   when all are there. Outside events in the meantime act after it.
// - Loading, overlapped: who comes first and lacks its adapter wants the load and is passed over until it is
//   there; no more loads than would fit the batch limit and the seats. Then, with budget left, the adapters
//   of the first `prefetch` waiting requests are wanted, and none of these is evicted for that, nor that of
//   who comes next. Where nothing else can run the engine waits for a load.
// - Execution none and deployments: adapters need nothing.
// - A step takes what models/adapter_batch.hpp says. Merged: before the first step with another adapter than
//   the one in the weights that one is taken out and the other merged (AdapterPlan::merge), in that step.
// - The KV of a prompt is that of one adapter: only requests with the same one share it.
//
// An engine can be copied, to ask what would happen. Copies, and engines made from one StepTable, share the
// prices.
//
// Who drives many engines at once (models/rollout_fleet.hpp) goes from change to change instead: next_change
// says when, and what must be announced by then; run_change takes the engine there. The results are the same
// to the last bit.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "models/box.hpp"
#include "models/finish_queue.hpp"
#include "models/job.hpp"
#include "models/kv_pages.hpp"
#include "models/rollout_adapters.hpp"
#include "models/sequences.hpp"
#include "models/step_prices.hpp"
#include "models/step_table.hpp"

namespace rollcast {

struct Request {
  std::int64_t id = 0;      // no other live request has it
  std::int64_t group = -1;  // requests of one group share their prompt; -1: none
  int prompt_tokens = 0;    // at least 1
  int response_tokens = 0;  // the length at which it will stop, at least 1
  // Of its response, tokens that an earlier life yielded: it prefills prompt + generated and goes on from
  // there.
  int generated = 0;
  int adapter = -1;  // of the engine's AdapterPlan; -1: the base model
};

struct Completion {
  std::int64_t id = 0;
  Seconds time;
  int generated = 0;  // in all its lives; less than response_tokens only when aborted
  bool aborted = false;
  Seconds first_token{};  // end of the step that yielded it; 0 where there is none in this life
};

// When an engine changes next. A step that starts depends on every outside event at or before `time`, any
// other change only on those before it.
struct EngineChange {
  Seconds time;  // infinite: nothing happens without outside help
  bool starts_step = false;
};

// One point of the engine's curves, written at every event: what holds from this time on. One per time, the
// last.
struct EnginePoint {
  Seconds time;
  int running = 0;
  int waiting = 0;
  // Held by running sequences, shared pages once, and by adapters in a unified pool; not those only cached.
  std::int64_t used_blocks = 0;
};

struct EngineCounters {
  std::int64_t steps = 0;
  std::int64_t generated_tokens = 0;
  std::int64_t prefill_tokens = 0;     // computed, recomputation included
  std::int64_t prefills = 0;           // completed; each yields a token
  std::int64_t cached_tokens = 0;      // found in the prefix cache
  std::int64_t preemptions = 0;        // for want of pages (drop_cache counts none)
  std::int64_t price_evaluations = 0;  // reads of StepPrices: each line or table cell that a sum goes through
  // Boundaries at which something changed: steps with prefill chunks, ends of decode stretches (a finish, or
  // no page left), outside events.
  std::int64_t events = 0;
  std::int64_t peak_blocks = 0;   // largest number of pages held during a step
  double decode_context_sum = 0;  // sum over steps of the total decode context: KV tokens read
  Seconds busy;                   // time inside steps
};

class RolloutEngine {
 public:
  // kv_blocks: pages available. std::logic_error: an option below 1, kv_blocks below 1, prices that check()
  // refuses; as RolloutAdapters.
  RolloutEngine(EngineOptions const& options, std::int64_t kv_blocks, StepPrices const& prices,
                Seconds least_prefill_step = {}, std::shared_ptr<AdapterPlan const> adapters = {});
  RolloutEngine(EngineOptions const& options, std::int64_t kv_blocks, StepTable const& prices,
                Seconds least_prefill_step = {}, std::shared_ptr<AdapterPlan const> adapters = {});

  // std::logic_error for a request that can never run (the scenario checks refuse it before): more pages than
  // kv_blocks for prompt + response - 1 tokens or, without chunked prefill, more of them than the budget; a
  // prompt or response below 1; generated not within [0, response); a prompt that differs in length from its
  // group's; an adapter that is not in the plan, or has no room beside the request in an empty engine.
  void submit(Request const& r, Seconds at);
  void submit(std::vector<Request> const& batch, Seconds at);

  // The time of the next completion without outside help beyond what is announced; nothing when there is none
  // (idle, or paused). Before it nothing is handed over. Found on a copy, the engine itself does not move.
  std::optional<Seconds> next_event_time();
  // Runs to the first step boundary at or after t and appends what finished, in order of time. Idle or
  // paused, the clock goes to t.
  void advance_to(Seconds t, std::vector<Completion>& out);
  // Runs to the next completion and appends it with those of the same boundary; nothing is appended when
  // there is none (idle, or paused).
  void advance_to_completion(std::vector<Completion>& out);
  // Runs until nothing is left that can run; returns the time of the last completion of this call (now(), if
  // none).
  Seconds run_to_end(std::vector<Completion>& out);

  EngineChange next_change() const;
  // The caller promises that what next_change asks for is announced. Runs to that change: a step with chunks
  // to its end, a stretch of decode steps to its own or to the first boundary after an announced event; or
  // only opens the stretch that next_change then tells the end of. Until an advance_to beyond now(), nothing
  // may then be done at now(): std::logic_error.
  void run_change(std::vector<Completion>& out);

  // An outside event with a time: an adapter that was wanted is in memory. std::logic_error: it is not on its
  // way.
  void adapter_loaded(int adapter, Seconds at);
  // Appends the loads wanted since the last call, in order of time.
  void take_loads(std::vector<WantedLoad>& out);
  AdapterUse const& adapter_use() const;  // zeros without adapters
  // A step waits for adapters, so that its end is not known yet: aborts and drop_cache are std::logic_errors.
  bool waits_for_adapters() const { return holds_step_; }

  // Ends a request at now(), also one only announced. false: unknown or finished.
  bool abort(std::int64_t id, std::vector<Completion>& out);
  // Ends all: running in admission order, waiting in queue order, announced in order of time.
  void abort_all(std::vector<Completion>& out);
  void pause(Seconds at);  // no step starts until resume; KV stays
  void resume(Seconds at);
  // Recompute everything in flight at the next step, as after a weight update that drops the KV cache: all
  // running sequences go to the front of the waiting queue in their order, every page is empty.
  void drop_cache();

  Seconds now() const { return now_; }
  EngineCounters const& counters() const { return counters_; }
  std::vector<EnginePoint> const& curve() const { return curve_; }

 private:
  enum class Act : std::uint8_t { arrive, pause, resume, loaded };
  struct Announced {
    Seconds time;
    Act act = Act::arrive;
    int who = -1;  // sequence, or adapter that is loaded
  };
  struct Chunk {  // prompt (or recomputed) tokens of one sequence in the next step
    int sequence = -1;
    std::int64_t tokens = 0;
  };
  // Decode steps between two changes. Times are always counted from its start, so that they do not depend on
  // where advance_to cuts.
  struct Stretch {
    bool open = false;
    Seconds start;
    Seconds busy_at_start;
    Seconds cost;      // of the whole stretch
    double base = 0;   // seconds of one step without attention
    double plain = 0;  // of the base model alone
    std::int64_t first_step = 0;
    std::int64_t context = 0;
    std::int64_t done = 0;
    std::int64_t length = 0;
  };

  Sequence& at(int i) { return sequences_[static_cast<std::size_t>(i)]; }
  Sequence const& at(int i) const { return sequences_[static_cast<std::size_t>(i)]; }

  // Outside events.
  int add(Request const& r);
  void announce(Announced a);
  void act_due();
  void disturb();
  void end(int i, bool aborted, std::vector<Completion>& out);
  void mark();

  bool can_run() const { return !paused_ && !blocked_ && running_.size() + waiting_.size() > 0; }
  bool has_announced() const { return announced_done_ < announced_.size(); }
  // When something from outside, or the patience of who waits, interrupts what goes on.
  Seconds next_interruption() const;
  // From event to event, until t or (if so asked) the first completion.
  void drive(Seconds t, bool to_first_completion, std::vector<Completion>& out);
  // The event of a boundary: a step with chunks, or a stretch that begins.
  void start_event(std::vector<Completion>& out);
  bool schedule();
  void admit_waiting(std::int64_t budget);
  bool admit_next(std::int64_t& budget);
  void start_held_step(std::vector<Completion>& out);
  void run_chunks(std::vector<Completion>& out);
  void open_stretch(bool preempted);
  void run_stretch(Seconds limit, std::vector<Completion>& out);
  Seconds stretch_cost(std::int64_t steps);
  double attention_cost(std::int64_t steps);
  std::int64_t first_step_at(Seconds limit);
  void finish_due(std::vector<Completion>& out);

  // Sequences in and out of decoding.
  void start_decoding(int i);
  void stop_running(int i);
  void return_to_waiting(int i);
  void add_page_need(std::int64_t computed, int change);
  std::int64_t pages_of_steps(std::int64_t from, std::int64_t steps) const;
  std::int64_t steps_with_pages(std::int64_t from, std::int64_t pages, std::int64_t enough) const;
  void pass_steps(std::int64_t n);

  std::int64_t block_size_;
  int max_running_;
  std::int64_t budget_;
  bool chunked_;
  bool prompts_apart_;
  Seconds least_prefill_step_;
  StepTable prices_;
  KvPages pages_;
  Box<RolloutAdapters> adapters_;

  Seconds now_;
  std::int64_t step_ = 0;   // boundaries passed
  std::int64_t phase_ = 0;  // step_ modulo block_size_
  bool paused_ = false;
  bool blocked_ = false;                                    // all that could run waits for adapters
  bool holds_step_ = false;                                 // chunks_ wait for adapters
  Seconds alarm_{std::numeric_limits<double>::infinity()};  // when somebody is out of patience
  std::vector<Sequence> sequences_;
  std::vector<int> free_places_;
  SequenceList running_;
  SequenceList waiting_;
  std::vector<Announced> announced_;  // in order of time, from announced_done_ on
  std::size_t announced_done_ = 0;
  FinishQueue finishing_;
  std::vector<int> due_;  // sequences that finish now
  std::int64_t admissions_ = 0;

  std::int64_t decoding_ = 0;  // sequences
  std::int64_t context_ = 0;   // their total context in the next step
  // Decoding sequences that need a page in step s, by s modulo block_size; twice over, so that a window of up
  // to block_size steps is contiguous.
  std::vector<int> page_needs_;
  std::vector<Chunk> chunks_;
  Stretch stretch_;

  EngineCounters counters_;
  std::vector<EnginePoint> curve_;
  bool next_is_known_ = false;
  std::optional<Seconds> next_;  // what next_event_time found last
};

}  // namespace rollcast
