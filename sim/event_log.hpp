// What happened in a run, append-only: the only thing that reports read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/aftermath.hpp"
#include "models/goodput.hpp"
#include "models/job.hpp"
#include "models/ledger.hpp"
#include "models/memory_snapshot.hpp"
#include "models/out_of_memory.hpp"
#include "models/outcome.hpp"
#include "models/profile.hpp"
#include "sim/serving_log.hpp"

namespace rollcast {

// storage: writes that go on behind the phases; nothing waits for them, they are no work of the rank.
enum class Stream { compute, communication, copy, host, storage };

// What a span of time was spent on. The first four are work, the others are waiting, named by cause.
enum class Activity {
  compute,          // kernels
  communication,    // a collective or transfer that this rank takes part in, while nothing else runs on it
  copy,             // host-device copies
  overhead,         // fixed parts: controller, engine start, launch
  pipeline_bubble,  // waits for another stage
  rollout_tail,     // own engine is done, others still generate
  collective_wait,  // waits for ranks that have not arrived
  phase_wait,       // waits for the next phase to start (stragglers of the phase)
  driver,           // waits for work in the driver (scoring, advantages)
};
std::string_view name_of(Stream s);
std::string_view name_of(Activity a);

// Ranks with the same program and the same times.
struct RankClassInfo {
  std::string name;  // "rank 3", "ranks 0-7"
  int pool = 0;      // index into EventLog::pools
  int node = 0;      // of its first rank
  std::vector<int> ranks;
};

struct PoolInfo {
  std::string name;
  std::string node;  // catalog name
  std::string gpu;
  int gpus = 0;
  FlopsPerSecond peak_flops;        // of one GPU, bf16
  BytesPerSecond memory_bandwidth;  // of one GPU
  Bytes capacity;                   // visible, of one GPU
  PriceNote prices;                 // what its kernels were priced by
};

struct Span {
  std::int32_t rank_class = 0;
  std::int32_t step = 0;
  Stream stream = Stream::compute;
  Phase phase = Phase::generate;
  Activity activity = Activity::compute;
  std::int32_t label = 0;  // index into EventLog::labels
  Seconds start;
  Seconds end;
  Flops flops;  // model FLOPs done by one rank
  Bytes hbm;    // HBM bytes moved by one rank, where the model knows them
};

// One phase of one step on one pool, first start to last end.
struct PhaseWindow {
  std::int32_t pool = 0;
  std::int32_t step = 0;
  Phase phase = Phase::generate;
  Seconds start;
  Seconds end;
};

// torch_*: the most that PyTorch's allocator of a rank held in use, held of the driver in a micro-batch.
enum class CounterKind { running, waiting, kv_blocks, torch_allocated, torch_reserved, memory };
std::string_view name_of(CounterKind k);
// A value that holds from `time` on. For memory: GPU bytes of one category of one role.
struct Counter {
  std::int32_t rank_class = 0;
  CounterKind kind = CounterKind::running;
  Role role = Role::rollout;
  MemoryCategory category = MemoryCategory::kv_pages;
  Seconds time;
  double value = 0;
};

// Samples handed from rollout to training, for flow arrows.
struct Handover {
  std::int32_t step = 0;
  std::int32_t from_rank_class = 0;
  std::int32_t to_rank_class = 0;
  Seconds sent;
  Seconds received;
  std::int32_t samples = 0;
};

// Steps count from 0; those of the warm-up of an asynchronous run have negative numbers in spans and windows
// and leave no record.
struct StepRecord {
  Seconds start;
  Seconds end;
  std::int64_t samples = 0;
  std::int64_t prompt_tokens = 0;
  std::int64_t response_tokens = 0;
  std::int64_t preemptions = 0;
  std::int64_t generated_samples = 0;  // started, also those that are thrown away; 0: nothing is generated
  std::int64_t computed_tokens = 0;    // of the actor's update, padding included
  std::int64_t useful_tokens = 0;      // of these, without padding
  // [k]: samples whose first token is k weight updates older than the training; empty where none was
  // generated
  std::vector<std::int64_t> staleness = {};
  // Samples in groups whose rewards differ; only where the scenario tells how many groups do not.
  std::optional<std::int64_t> signal_samples = {};
};

// "step 1" of step 0; "the warm-up" of a negative one.
std::string step_name(int step);

struct OomRecord {
  OomKind kind = OomKind::torch;
  Seconds time;
  int rank = 0;
  int pool = 0;
  int step = 0;
  Phase phase = Phase::generate;
  std::string allocation;
  Bytes requested;
  Bytes free;
  Bytes allocated;
  std::optional<int> numa = {};         // of the host, where processes are bound to one
  std::optional<int> micro_batch = {};  // of the phase, counted from 0
  // As PyTorch's message has them (of a driver's failure: what the process held); none of the host.
  std::optional<OutOfMemory> figures = {};
};

// "actor logits: fp32 logits needs 3.84 GiB, 3.56 GiB is free"; of a small tensor with the segment that
// PyTorch asks for, of a process at its memory fraction with what that allows.
std::string needs_text(OomRecord const& o);

// A program that gives up for another reason than memory that is used up.
struct FailureRecord {
  Seconds time;
  std::string kind;  // "refit_buffer"
  int rank = 0;
  int pool = 0;
  int step = 0;
  std::string what;  // the tensor that does not fit, say
  Bytes bytes;       // asked
  Bytes limit;
};

// Collectives or calls that did not end, as a timer or nobody found them.
enum class StallKind { watchdog, hang, rpc_timeout, deadlock };
std::string_view name_of(StallKind k);

struct StallRecord {
  Seconds time;  // of the first cause
  StallKind kind = StallKind::watchdog;
  int pool = 0;
  std::string cause;
  std::string group;  // of the first timer, or where most wait; empty: in no collective
  std::string operation;
  std::optional<std::int64_t> sequence;  // absent: not counted
  std::vector<int> waiting_ranks;        // ascending
  std::vector<int> missing_ranks;
  std::optional<Seconds> enqueued;  // the earliest
  std::optional<Seconds> detected;
  std::optional<Seconds> killed;           // nobody waits any more; absent: never
  std::optional<double> gpu_seconds_lost;  // of all GPUs, from the cause on
};

// A long run with failures, to be forecast with this one's step, which run.step leaves out.
struct LongRunPlan {
  LongRun run;
  int every = 0;  // checkpoint.every
};

struct EventLog {
  std::string scenario;
  std::uint64_t seed = 0;
  Outcome outcome = Outcome::completed;
  std::string outcome_reason;      // for people; empty when completed
  std::vector<std::string> notes;  // assumptions worth telling: derived prices, unmeasured collectives
  std::vector<PoolInfo> pools;
  std::vector<RankClassInfo> rank_classes;
  std::vector<std::string> labels;
  std::vector<StepRecord> steps;  // that were completed
  std::vector<PhaseWindow> phases;
  std::vector<Span> spans;
  std::vector<Counter> counters;
  std::vector<Handover> handovers;
  std::vector<RankLedger> ledgers;
  std::vector<int> ledger_of_class;  // rank class -> index into ledgers
  std::vector<OomRecord> ooms;
  std::vector<FailureRecord> failures;
  std::vector<StallRecord> stalls;
  std::optional<Stall> stall;                            // behind all of it; not part of a saved log
  std::vector<Happening> happenings;                     // of an incident, by time
  std::vector<Remedy> remedies;                          // what would have ended it sooner
  std::optional<MemorySnapshot> snapshot;                // not part of a saved log
  std::optional<ServingLog> serving;                     // of a run that serves
  std::optional<LongRunPlan> long_run;                   // where the scenario asks for one
  std::vector<std::pair<std::string, double>> measured;  // of the scenario, to print beside the forecast
  std::string measured_source;
};

}  // namespace rollcast
